/*
 * The tables behind seccomp.c: which system calls a command may make, and with which arguments
 * never.
 *
 * Data only, no privilege. A name that this architecture lacks is skipped; a unit test finds
 * misspelt ones.
 */
#pragma once

#include <errno.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SECCOMP_RULES_MAX 64

/* One subject of the allow-list. Lists of calls are texts, the names separated by single blanks. */
struct seccomp_group {
	const char *name;
	bool strict; /* in the strict set as well */
	const char *calls;
};

/* A call younger than some libseccomp in use; numbers from 424 on are the same on all
 * architectures. */
struct seccomp_newer {
	const char *name;
	int number;
};

/* Fits when first <= (argument & mask) <= last; with mask 0, when all 64 bits of the argument are
 * above `last`. */
struct seccomp_argument {
	unsigned index;
	uint32_t mask; /* of the low half, where the kernel takes an int */
	uint32_t first, last;
};

/* Where a rule holds: in both base sets or one of them; or in either, but only where commands may
 * have performance events. */
enum seccomp_set { SECCOMP_BOTH = 0, SECCOMP_DEFAULT, SECCOMP_STRICT, SECCOMP_PERF };

#define SECCOMP_PRETEND (-1) /* instead of an error: the call succeeds, and does nothing */

/*
 * Calls that fail with `error` if each of the arguments fits; with no arguments, always. Error 0
 * allows them. Of the rules for a call the first one that fits decides; if none does, whether a
 * group holds the call.
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
extern const char seccomp_init_calls[]; /* that yett-init makes and commands may not */
extern const char
	seccomp_nested_calls[]; /* that commands may make where they may make user namespaces */
extern const char seccomp_build_calls[]; /* that it makes besides while it builds */

/*
 * What is forbidden, with EPERM, is told of: whoever holds the filter's listener answers so, and
 * start.c puts the error in place where nobody can listen. The other errors say what there is not,
 * which programs try as a matter of course.
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
