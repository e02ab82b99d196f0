/*
 * yett-explain: what the policy says, told to who asks: whether a request would be granted, by
 * which lines; which profiles somebody may have; which grants are void, have expired, or never
 * decide.
 *
 * Without any privilege but that of who executes it, who must be able to read the policy. It
 * decides nothing by rules of its own: authorize.h and planning.h say what would be said, and
 * limits are found by asking for too much and reading the refusal.
 */
#pragma once

#include "helper/setup/making.h"
#include "programs/decider/authorize.h"

#include <stdio.h>

struct explain {
	const struct policy *policy;
	struct share_doors doors;
	const char *path; /* of the policy; "built-in" */
	const struct peer *peer;
	bool is_own_key; /* where no key is named, it is any of the user's own, whoever executes
	                    this */
	struct verified
		verified; /* who is taken to ask; the request is the one that is looked at */
};

/* Both texts of an answer: for people, and as a JSON object. */
struct explain_answer {
	FILE *text, *json;
};

/* --- of whom ---------------------------------------------------------------------------------- */

/* -1 is no valid one for a plan, and -2 some hosts give to nobody */
#define WHO_NO_GROUP ((gid_t)-3)

/*
 * Who would ask: the account `user`, by name or number (NULL: who executes this), with its groups.
 * The number of no account is in no group, WHO_NO_GROUP its own. With `groups`, names or numbers
 * and commas between them, it is in these and no other, the first of them its own. NOT_FOUND:
 * neither an account nor a number that could be one's; UNSUPPORTED.
 */
_must_check_ int who_find(const char *user, const char *groups, struct peer *ret_peer,
                          struct yett_error *error);

/*
 * With which key. `key` is the name of an enrolled one, or the path of a public key; NULL: the one
 * that signed, `signer`, or where `peer` is not who executes this, any of the user's own. Fills
 * explain->verified but for the request. BAD_SIGNATURE with how to enroll it.
 */
_must_check_ int who_find_key(struct explain *explain, const char *key,
                              const uint8_t signer[static 32], struct yett_error *error);

/* --- answers ---------------------------------------------------------------------------------- */

/* 0, and the decision with what each part of it rests on; or the refusal. `fds` are the shares of
 * the request. */
_must_check_ int explain_request(const struct explain *explain, const int *fds,
                                 struct explain_answer *answer, struct yett_error *error);

/* The profiles that may be had, each with what it gives and at most. */
_must_check_ int explain_profiles(const struct explain *explain, struct explain_answer *answer,
                                  struct yett_error *error);

/* The grants that are for whoever asks, in the order in which they count: what each gives and
 * bounds, and which of them another shadows. */
void explain_effective(const struct explain *explain, struct explain_answer *answer);

/* What is written of the helper, each key with where, and with what it replaces there. */
void explain_origin(const struct explain *explain, struct explain_answer *answer);

/* What is to be told of a policy that was read: notices, a line each, then how much there is in it.
 */
void explain_policy(const struct explain *explain, struct explain_answer *answer);

/* --- limits ----------------------------------------------------------------------------------- */

/* What can be asked for: one row each, in the order of enum policy_limit. */
struct limits_row {
	const char *name, *json;
	size_t asked, value; /* in struct message_limits and struct plan_limits */
	char *(*format)(uint64_t, char[32]);
	int (*parse)(const char *, uint64_t *);
};
extern const struct limits_row limits_rows[POLICY_LIMITS];

/* What helpers can give is not known here: any. */
extern const struct plan_limits explain_gives;

uint64_t limits_value(const struct plan_limits *limits, enum policy_limit limit);

/* What refuses somebody who asks for more than there is of one of these; error code 0: nothing
 * does. */
struct limits_refusals {
	struct yett_error of[POLICY_LIMITS], share_ro, share_rw;
};
void limits_find(const struct explain *explain, const char *profile,
                 struct limits_refusals *ret_refusals);

/* --- grants ----------------------------------------------------------------------------------- */

/* The id of a user and of a group that no grant of the policy names. */
uint32_t shadow_nobody(const struct policy *policy);

/*
 * Another ceiling that is for all for whom this one is, and bounds each number at least as much, so
 * that this one is never the least; of two that are the same, the second has the first. This one
 * itself where it bounds nothing; NULL: it counts for somebody.
 */
const struct policy_grant *shadow_find_ceiling(const struct policy *policy, uint32_t nobody,
                                               const struct policy_grant *ceiling);

/*
 * The grant that decides wherever this one, of the same policy, could, for everybody and every key
 * and profile; NULL: there is somebody for whom this one does. What has expired by `now` comes
 * before nothing. `nobody` is shadow_nobody().
 */
const struct policy_grant *shadow_find(const struct policy *policy, uint32_t nobody, uint64_t now,
                                       const struct policy_grant *grant);
