/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decision: whether the policy allows a verified request, and within which bounds.
 *
 * Pure: this header and authorize.c include no I/O header and use no privilege. Effective =
 * request ∩ grant ∩ profile ∩ ceilings. A request beyond a bound is refused with the rule
 * (FILE:LINE), the value asked for and the value allowed. A request is never weakened to fit.
 */
#pragma once

#include "programs/decide/decider/decision.h"

/* The grant that decides about a request. */
struct choice {
	const struct policy_grant *grant; /* NULL: no grant gives the profile */
	/*
	 * If `grant` is NULL: the grant that needs the least change to give the profile; NULL: no
	 * grant is for the peer.
	 */
	const struct policy_grant *nearest;
};

/*
 * The precedence of a grant that is for the peer: AUTHORIZE_RANKS - 1 comes first. 0 is the rank of
 * a ceiling, which never decides.
 */
#define AUTHORIZE_RANKS (2 * POLICY_NAMING_USER + 2)
unsigned authorize_rank(const struct policy_grant *grant, const struct verified *verified);

/* How closely the grant names the peer: as user, by a group, as everyone, or not at all. */
enum policy_naming authorize_naming(const struct policy_grant *grant, const struct peer *peer);

/*
 * Finds the grant that decides about `profile`. If any grant with `agents` is for the peer, only
 * such grants count for the requests of agents; for other requests they never count. A grant that
 * names the user comes before one that names a group of the user, which comes before "*". Among
 * these, a grant that names the key comes first, then the order of the text counts. Only the grants
 * of the highest rank that occurs count: the peer does not get what none of them gives, unless all
 * of them have fall_through. Then the grants of the next rank count in the same way.
 */
struct choice authorize_choose(const struct policy *policy, const struct verified *verified,
                               const char *profile);

/* Whether the request comes from an agent, and a grant with `agents` is for the peer. */
bool authorize_is_bound(const struct policy *policy, const struct verified *verified);

/*
 * Decides about a MESSAGE_CREATE by the grant that authorize_choose() finds for its profile.
 * Returns 0, YETT_E_INVALID_REQUEST, YETT_E_PERMISSION_DENIED, YETT_E_BAD_SIGNATURE (reason
 * UNKNOWN_KEY: a user key where no grant that counts has user_keys), YETT_E_RESOURCE_LIMIT or
 * YETT_E_SECURITY_VIOLATION (confined client). A refusal by the policy has the value asked for, the
 * value allowed and FILE:LINE in the detail. `given` has the limits that the helper itself runs
 * under (0: no bound): a request beyond one gets YETT_E_RESOURCE_LIMIT, and a value of the profile
 * is lowered to it.
 */
_must_check_ int authorize(const struct policy *policy, const struct verified *verified,
                           const struct plan_limits *given, struct decision *ret_decision,
                           struct yett_error *error);

/*
 * Decides about new network rules for an existing sandbox of `profile`, whose network mode is
 * `network`. The rules of the MESSAGE_MANAGE replace all rules that were requested before. The
 * current policy decides. Fills in only the parts of the decision that concern the network. Errors
 * as authorize().
 */
_must_check_ int authorize_rules(const struct policy *policy, const struct verified *verified,
                                 const char *profile, enum plan_network network,
                                 struct decision *ret_decision, struct yett_error *error);

/*
 * Decides whether the client may relay the socket or port of a MESSAGE_RELAY to sandboxes of the
 * profile: a socket that the grant lists, or a port at a loopback address or at an address that the
 * grant lists. Returns 0, or errors as authorize(). The client relays by itself, with the rights of
 * its user. So this check stops programs that ask, as the administrator wants, but it cannot stop
 * the user.
 */
_must_check_ int authorize_relay(const struct policy *policy, const struct verified *verified,
                                 struct yett_error *error);

/*
 * Decides whether the peer may manage sandboxes at all: some grant must give it any profile with
 * this key; if the peer is confined, a grant with confined_clients must. Returns 0,
 * PERMISSION_DENIED, BAD_SIGNATURE or SECURITY_VIOLATION.
 */
_must_check_ int authorize_manager(const struct policy *policy, const struct verified *verified,
                                   struct yett_error *error);

/*
 * Whether the peer may manage a sandbox of `profile` that was requested with the key `principal` of
 * `uid`: the peer could have requested the sandbox itself, or is an administrator.
 */
bool authorize_manage(const struct policy *policy, const struct verified *verified, uid_t uid,
                      const char *principal, const char *profile);

/*
 * Whether any grant lets this peer use keys that the user enrolled. If so, yett-reader reads
 * ~/.config/yett/authorized_keys.
 */
bool authorize_user_keys(const struct policy *policy, const struct peer *peer);
