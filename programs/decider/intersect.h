/*
 * Request ∩ grant ∩ profile ∩ ceilings: the numbers of a decision, what bounds each, and the
 * refusal of what is more.
 *
 * Pure: no I/O header, no privilege. One table has all the numbers; which rule holds for each is
 * also what yett.conf(5) says.
 */
#pragma once

#include "base/units.h"
#include "programs/decider/authorize.h"

/* Where the most comes from. Ceilings that are for the peer bound all of them; of all values the
 * least counts. */
enum intersect_rule {
	INTERSECT_ASKED,  /* the grant that decides, and where it says nothing the profile, whose
	                   * value is in force unless another is asked
	                   */
	INTERSECT_TIME,   /* the grant that decides, and the profile */
	INTERSECT_LINGER, /* the grant that decides; what is not written there is none */
	INTERSECT_DISK,   /* the grant that decides */
	INTERSECT_USER,   /* every grant that is for the peer, whichever decides */
};

/* One number, in the order of enum policy_key. */
struct intersect_row {
	const char *key; /* of grants and ceilings */
	enum intersect_rule rule;
	size_t bound;  /* in struct policy_grant: a uint64_t, or a uint32_t */
	bool is_small; /* the latter */
	char *(*format)(uint64_t,
	                char[UNITS_TEXT_SIZE]); /* 0 and the words for none and unlimited apart */
	const char *name;  /* ASKED: what the profile and the request call it */
	size_t own, asked; /* ASKED: in struct plan_limits and struct message_limits */
};
extern const struct intersect_row intersect_rows[POLICY_BOUNDS];

/* What a grant or a ceiling says of it. */
uint64_t intersect_value(const struct intersect_row *row, const struct policy_grant *grant);

/* Whether one value of a number bounds more than the other. */
bool intersect_is_less(const struct intersect_row *row, uint64_t value, uint64_t than);

/*
 * Of a decision whose request, profile and grant are known, the rest of what it says in numbers:
 * bounds, limits, user_limits, life. Errors as of authorize(); then the bounds are filled in all
 * the same.
 */
_must_check_ int intersect(const struct policy *policy, const struct plan_limits *given,
                           struct decision *decision, struct yett_error *error);
