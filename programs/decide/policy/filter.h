/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a verdict for each system call number into a classic BPF program that is cheap to load.
 * Part of yett-policy; pure, without privilege.
 *
 * When a filter is loaded, the kernel checks and translates each instruction, and runs the program
 * once for every number to cache which calls are always allowed. So the program must be short, and
 * so must its paths: a binary search over ranges of numbers with the same verdict, which ends in an
 * action or in the few argument comparisons that the verdict needs. See the kernel's
 * userspace-api/seccomp_filter.rst.
 */
#pragma once

#include "programs/decide/policy/seccomp_table.h"

#include "base/error.h"

#include <linux/filter.h>

#define FILTER_NUMBERS 1024 /* higher than any system call number */

/*
 * `rules` is a bit mask (1 << index). The first rule in it that matches decides. If none does,
 * `action` (SECCOMP_RET_*) decides.
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
 * Compiles the filter. The program begins as base/filter_head.h says; the caller frees it. Returns
 * 0; -E2BIG: longer than the kernel accepts; or -ENOMEM.
 */
_must_check_ int filter_emit(const struct filter *filter, struct sock_filter **ret_code,
                             size_t *ret_count);
