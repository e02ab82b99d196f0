/* SPDX-License-Identifier: Apache-2.0 */
/* See escape_list.h. No privilege, no allocation. */
#include "base/escape_list.h"

#include <string.h>

char *escape_list(char *const *items, size_t count, char *out, size_t size)
{
	size_t used = 0;

	(void)escape_text(count ? "" : "nothing", out, size);
	for (size_t i = 0; i < count && size - used >= 16; i++) {
		memcpy(out + used, ", ", 2);
		(void)escape_text(items[i], out + used + (i ? 2 : 0), size - used - 2);
		used += strlen(out + used);
	}
	return out;
}
