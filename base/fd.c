/* See fd.h. */
#include "base/fd.h"

#include <sys/syscall.h>

void fd_close_except(const int *keep, size_t count)
{
	for (unsigned from = 3;;) {
		unsigned next = ~0u;

		for (size_t i = 0; i < count; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next > from)
			(void)syscall(SYS_close_range, from, next == ~0u ? next : next - 1, 0);
		if (next == ~0u)
			return;
		from = next + 1;
	}
}
