/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the processors that commands run on where the sandbox has a CPU time limit: as many as
 * the limit can keep busy.
 *
 * Runs as init or its child, unprivileged. The cgroup enforces the limit. The processor set only
 * tells programs how many threads are useful, through the interfaces that they query:
 * sched_getaffinity(2) and the list of online processors.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PROCESSORS_MAX 8192 /* CONFIG_NR_CPUS of any kernel */

struct processors {
	/* Bit n % 64 of word n / 64 is processor n, as for sched_setaffinity(2). */
	uint64_t bits[PROCESSORS_MAX / 64];
};

/*
 * How many processors a limit of `cpu_millis` thousandths of a processor keeps busy. 0: unlimited,
 * also for `count` below.
 */
static inline uint32_t processors_count(uint64_t cpu_millis)
{
	return (uint32_t)((cpu_millis + 999) / 1000);
}

/* Reads the processors that this process may run on. Returns 0 or -errno. */
_must_check_ int processors_read(struct processors *ret_set);

/*
 * Reduces a set to `count` processors, chosen by `turn`. Consecutive turns choose consecutive
 * processors, so that sandboxes that are made one after the other get different ones while there
 * are enough. Processors with an even position come first: where the two threads of a core have
 * adjacent numbers, each core's first thread is used before any second one. Returns false, and
 * leaves the set unchanged, if `count` is 0 or the set has no more than `count`.
 */
bool processors_narrow(struct processors *set, uint32_t count, uint64_t turn);

/*
 * Sets the CPU affinity of this process and its future children. Failure is ignored: nothing
 * depends on it.
 */
void processors_take(const struct processors *set);

/* Prints the set in the list format of /sys/devices/system/cpu: "0-2,4". */
void processors_print(FILE *out, const struct processors *set);
