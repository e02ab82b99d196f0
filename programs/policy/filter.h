/*
 * From a verdict on each call's number to a program of classic BPF that is cheap to load.
 *
 * In yett-policy, without privilege; pure. The kernel checks and translates each instruction when a
 * filter is loaded, and runs the program once for every number, to remember which ones are allowed
 * whatever their arguments. So what counts is few instructions and short ways: a binary search over
 * ranges of numbers with the same verdict, which ends in an answer, or in the few comparisons of
 * arguments that the verdict needs. kernel: userspace-api/seccomp_filter.rst.
 */
#pragma once

#include "programs/policy/seccomp_table.h"

#include "base/error.h"

#include <linux/filter.h>

#define FILTER_NUMBERS 1024 /* no call has a higher number */

/* Of the rules whose bits (1 << index) are set the first one that fits decides; if none does,
 * `action` (SECCOMP_RET_*).
 */
struct filter_verdict {
	uint64_t rules;
	uint32_t action;
};

struct filter {
	uint32_t arch;      /* AUDIT_ARCH_* */
	uint32_t otherwise; /* the action for higher numbers, and for other calling conventions */
	const struct seccomp_rule *rules;
	struct filter_verdict verdicts[FILTER_NUMBERS];
};

/*
 * 0 with an array that the caller frees, and that begins as base/filter_head.h says; -E2BIG: longer
 * than the kernel takes; -ENOMEM.
 */
_must_check_ int filter_emit(const struct filter *filter, struct sock_filter **ret_code,
                             size_t *ret_count);
