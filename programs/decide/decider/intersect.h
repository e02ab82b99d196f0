/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Request ∩ grant ∩ profile ∩ ceilings: computes the numbers of a decision and their bounds, and
 * refuses values beyond a bound.
 *
 * Pure: no I/O header, no privilege. One table has all numbers. yett.conf(5), "Which bound counts",
 * documents the rule of each.
 */
#pragma once

#include "base/units.h"
#include "programs/decide/decider/decision.h"

/*
 * The sections that bound a number. In every rule, all ceilings that are for the peer bound the
 * number, too, and the lowest value counts.
 */
enum intersect_rule {
	/*
	 * The deciding grant, or the profile where the grant has no value. Without a value in the
	 * request, the profile's value applies.
	 */
	INTERSECT_ASKED,
	INTERSECT_TIME,   /* the deciding grant and the profile */
	INTERSECT_LINGER, /* the deciding grant; without a value there, none may linger */
	INTERSECT_DISK,   /* the deciding grant */
	INTERSECT_USER,   /* all grants for the peer limit it, not only the deciding one */
};

/* A number that grants and ceilings bound. intersect_rows is in the order of enum policy_key. */
struct intersect_row {
	enum intersect_rule rule;
	size_t bound;  /* offset in struct policy_grant, of a uint64_t or uint32_t */
	bool is_small; /* a uint32_t */
	/* Does not handle the values that mean none or unlimited. */
	char *(*format)(uint64_t, char[UNITS_TEXT_SIZE]);
	const char *name;  /* ASKED: the key in the profile and the request */
	size_t own, asked; /* ASKED: offsets in struct plan_limits and struct message_limits */
};
extern const struct intersect_row intersect_rows[POLICY_BOUNDS];

/* The value that the grant or ceiling has for this number. */
uint64_t intersect_value(const struct intersect_row *row, const struct policy_grant *grant);

/* Whether `value` is a stricter bound than `than`. */
bool intersect_is_less(const struct intersect_row *row, uint64_t value, uint64_t than);

/*
 * Fills in the bounds, limits, user_limits and life of a decision whose request, profile and grant
 * are set. Errors as authorize(); the bounds are filled in even then.
 */
_must_check_ int intersect(const struct policy *policy, const struct plan_limits *given,
                           struct decision *decision, struct yett_error *error);
