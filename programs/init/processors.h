/*
 * Which processors commands run on, where their sandbox has a limit of processor time: as many as
 * that comes to.
 *
 * As init or a child of its, unprivileged. It is the control group that holds the limit; what is
 * here tells programs how many threads are worth having, by what they ask for that:
 * sched_getaffinity(2), and the list of processors that are online.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PROCESSORS_MAX 8192 /* CONFIG_NR_CPUS of any kernel */

struct processors {
	uint64_t bits[PROCESSORS_MAX / 64]; /* bit n % 64 of word n / 64: processor n. As the kernel
	                                       has it: sched_setaffinity(2) */
};

/* How many processors a limit of so many thousandths of one keeps busy. 0: unlimited, here and in
 * what follows. */
static inline uint32_t processors_count(uint64_t cpu_millis)
{
	return (uint32_t)((cpu_millis + 999) / 1000);
}

/* Those that this process may run on. 0 or -errno. */
_must_check_ int processors_read(struct processors *ret_set);

/*
 * Takes away all but `count` of a set; which ones stay goes by `turn`. For turns one after the
 * other these follow each other, so that sandboxes made one after the other have different ones as
 * long as there are some. Every second one comes first: where the two threads of a core are
 * numbered one after the other, no core is asked for its second before each has been asked for its
 * first. False: there are no more than that in the set.
 */
bool processors_narrow(struct processors *set, uint32_t count, uint64_t turn);

/* Has this process, and what it starts, run on these. Nothing rests on it: where it cannot be done,
 * it is not. */
void processors_take(const struct processors *set);

/* As lists in /sys/devices/system/cpu are written: "0-2,4". */
void processors_print(FILE *out, const struct processors *set);
