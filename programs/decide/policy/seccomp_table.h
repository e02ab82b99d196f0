/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables for seccomp.c: which system calls a command may make, and with which arguments it may
 * not. Data only, no privilege. Names that this architecture lacks are skipped; a unit test finds
 * misspelt ones.
 */
#pragma once

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECCOMP_RULES_MAX 64

/* A group of allowed calls. A list of calls is a string of names, separated by single spaces. */
struct seccomp_group {
	const char *name;
	bool strict; /* in the strict set, too */
	const char *calls;
};

/*
 * A call that some libseccomp versions in use do not know. Numbers from 424 on are the same on all
 * architectures.
 */
struct seccomp_newer {
	const char *name;
	int number;
};

/*
 * Matches if first <= (argument & mask) <= last. With mask 0, matches if the whole 64-bit argument
 * is greater than `last`.
 */
struct seccomp_argument {
	unsigned index;
	uint32_t mask; /* bits of the low half: the kernel takes such arguments as int */
	uint32_t first, last;
};

/*
 * Which base sets a rule belongs to. SECCOMP_PERF: both, but only if commands may use performance
 * events.
 */
enum seccomp_set { SECCOMP_BOTH = 0, SECCOMP_DEFAULT, SECCOMP_STRICT, SECCOMP_PERF };

#define SECCOMP_PRETEND (-1) /* the call does nothing and returns success */

/*
 * Calls that fail with `error` if all arguments match; without arguments, always. Error 0 allows
 * the call. The first rule for a call that matches decides. If none does, the call is allowed if a
 * group contains it.
 */
struct seccomp_rule {
	const char *calls;
	int error;
	unsigned arguments_count;
	struct seccomp_argument arguments[3];
	enum seccomp_set set;
};

extern const struct seccomp_group seccomp_groups[];
extern const size_t seccomp_groups_count;
extern const struct seccomp_rule seccomp_rules[];
extern const size_t seccomp_rules_count;
extern const struct seccomp_newer seccomp_newer[];
extern const size_t seccomp_newer_count;
extern const char seccomp_init_calls[]; /* calls that yett-init makes and commands may not */
/* calls that commands may make if they may make user namespaces */
extern const char seccomp_nested_calls[];
extern const char seccomp_build_calls[]; /* further calls that yett-init makes while it builds */

/*
 * A call that fails with EPERM is forbidden, and the attempt is reported: the process with the
 * filter's listener answers EPERM, and programs/inside/init/start.c replaces the notification by
 * the error where no listener is possible. The other errors say that something does not exist;
 * programs try such calls routinely.
 */
#define SECCOMP_FORBIDDEN SECCOMP_RET_USER_NOTIF

static inline uint32_t seccomp_rule_action(const struct seccomp_rule *rule)
{
	if (rule->error == EPERM)
		return SECCOMP_FORBIDDEN;
	if (rule->error == SECCOMP_PRETEND)
		return SECCOMP_RET_ERRNO;
	return rule->error ? SECCOMP_RET_ERRNO | (uint32_t)rule->error : SECCOMP_RET_ALLOW;
}
