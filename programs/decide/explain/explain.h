/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-explain: prints what the policy says: whether a request would be granted and by which lines,
 * which profiles a user may have, and which grants are void, have expired or never decide.
 *
 * Runs only with the privilege of its caller, who must be able to read the policy. It has no
 * decision rules of its own: it calls authorize.h and planning.h, and finds limits by requesting
 * too much and reading the refusal.
 */
#pragma once

#include "helper/setup/making.h"
#include "programs/decide/decider/authorize.h"

#include <stdio.h>

struct explain {
	const struct policy *policy;
	struct share_protected protected_paths;
	const char *path; /* of the policy, or "built-in" */
	const struct peer *peer;
	/* without a named key, assume one of the user's own keys, even if the user is the caller */
	bool is_own_key;
	struct verified verified; /* the assumed client; its request is the one to explain */
};

/* The two forms of an answer: text for people, and a JSON object. */
struct explain_answer {
	FILE *text, *json;
};

/* --- the client ------------------------------------------------------------------------------- */

/* -1 is not valid in a plan, and some hosts reserve -2. */
#define WHO_NO_GROUP ((gid_t)-3)

/*
 * Finds the assumed client: the account `user`, by name or number, with its groups (NULL: the
 * caller). A number without an account is in no group and has the gid WHO_NO_GROUP. `groups` (names
 * or numbers, separated by commas; may be NULL) replaces the groups, and the first is the gid.
 * YETT_E_NOT_FOUND: there is no such account, and `user` cannot be a uid, or there is no such
 * group. YETT_E_UNSUPPORTED: too many groups.
 */
_must_check_ int who_find(const char *user, const char *groups, struct peer *ret_peer,
                          struct yett_error *error);

/*
 * Finds the key of the assumed client and fills explain->verified, except for the request. `key`:
 * the name of an enrolled key, or the path of a public key. NULL: the key `signer` that signed the
 * request, or, if `peer` is not the caller, any of the user's own keys. YETT_E_BAD_SIGNATURE: the
 * key is not enrolled; the error says how to enroll it.
 */
_must_check_ int who_find_key(struct explain *explain, const char *key,
                              const uint8_t signer[static 32], struct yett_error *error);

/* --- answers ---------------------------------------------------------------------------------- */

/*
 * Explains a request. Returns 0 and the decision, with the rule for each part of it; or the
 * refusal. `fds` are the request's shares.
 */
_must_check_ int explain_request(const struct explain *explain, const int *fds,
                                 struct explain_answer *answer, struct yett_error *error);

/* Lists the profiles that the client may have, each with its values and limits. */
_must_check_ int explain_profiles(const struct explain *explain, struct explain_answer *answer,
                                  struct yett_error *error);

/*
 * Lists the grants that apply to the client, in order of precedence: what each gives and limits,
 * and which are shadowed by another.
 */
void explain_effective(const struct explain *explain, struct explain_answer *answer);

/* Lists the keys of the helper section: where each is set, and which earlier value it replaces. */
void explain_origin(const struct explain *explain, struct explain_answer *answer);

/* Reports on a policy that was read: its notices, one a line, then the number of its sections. */
void explain_policy(const struct explain *explain, struct explain_answer *answer);

/* --- limits ----------------------------------------------------------------------------------- */

/* The limits that a request can ask for, in the order of enum policy_limit. */
struct limits_row {
	const char *name, *json;
	size_t asked, value; /* offsets in struct message_limits and struct plan_limits */
	char *(*format)(uint64_t, char[32]);
	int (*parse)(const char *, uint64_t *);
};
extern const struct limits_row limits_rows[POLICY_LIMITS];

/* The limits of what a host can provide are not known here, so this struct sets none. */
extern const struct plan_limits explain_gives;

uint64_t limits_value(const struct plan_limits *limits, enum policy_limit limit);

/*
 * The refusal of a request for more than the maximum, for each limit. Error code 0: there is no
 * maximum.
 */
struct limits_refusals {
	struct yett_error of[POLICY_LIMITS], share_ro, share_rw;
};
void limits_find(const struct explain *explain, const char *profile,
                 struct limits_refusals *ret_refusals);

/* --- grants ----------------------------------------------------------------------------------- */

/* A number that the policy names neither as uid nor as gid. */
uint32_t shadow_nobody(const struct policy *policy);

/*
 * Returns a ceiling that makes this one useless: it applies to everybody that this one applies to,
 * and is at most as high in each number. Of two equal ceilings, the second is useless. Returns
 * `ceiling` itself if it limits nothing, or NULL if it is useful.
 */
const struct policy_grant *shadow_find_ceiling(const struct policy *policy, uint32_t nobody,
                                               const struct policy_grant *ceiling);

/*
 * Returns a grant that decides wherever `grant` could, for all users, keys and profiles; NULL:
 * `grant` decides for somebody. Grants that have expired at `now` do not count. `nobody` is
 * shadow_nobody().
 */
const struct policy_grant *shadow_find(const struct policy *policy, uint32_t nobody, uint64_t now,
                                       const struct policy_grant *grant);
