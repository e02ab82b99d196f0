/* SPDX-License-Identifier: Apache-2.0 */
/* See processors.h. */
#include "programs/inside/init/processors.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool processors_has(const struct processors *set, unsigned number)
{
	return number < PROCESSORS_MAX && set->bits[number / 64] >> number % 64 & 1;
}

int processors_read(struct processors *ret_set)
{
	struct processors set = {0};

	/* The C library's cpu_set_t is smaller than the processor sets of some machines. */
	if (syscall(SYS_sched_getaffinity, 0, sizeof set.bits, set.bits) < 0)
		return -errno;
	*ret_set = set;
	return 0;
}

bool processors_narrow(struct processors *set, uint32_t count, uint64_t turn)
{
	unsigned numbers[PROCESSORS_MAX], total = 0, first;
	struct processors kept = {0};

	for (unsigned number = 0; number < PROCESSORS_MAX; number++)
		if (processors_has(set, number))
			numbers[total++] = number;
	if (count == 0 || count >= total)
		return false;
	first = (unsigned)(turn % total) * count;
	for (unsigned i = first; i < first + count; i++) {
		unsigned place = i % total * 2;
		unsigned number = numbers[place < total ? place : (place - total) | 1];

		kept.bits[number / 64] |= 1ULL << number % 64;
	}
	*set = kept;
	return true;
}

void processors_take(const struct processors *set)
{
	/*
	 * Fails if the administrator has meanwhile removed all of these processors from our cpuset.
	 * The process then stays on the others. cpuset(7)
	 */
	(void)syscall(SYS_sched_setaffinity, 0, sizeof set->bits, set->bits);
}

void processors_print(FILE *out, const struct processors *set)
{
	const char *comma = "";

	for (unsigned number = 0; number < PROCESSORS_MAX; number++) {
		unsigned last = number;

		if (!processors_has(set, number))
			continue;
		while (processors_has(set, last + 1))
			last++;
		(void)fprintf(out, last > number ? "%s%u-%u" : "%s%u", comma, number, last);
		comma = ",";
		number = last;
	}
	(void)fprintf(out, "\n");
}
