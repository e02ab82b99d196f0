/*
 * What root makes sure of before it carries out a plan: a short list, whatever yett-decider has
 * decided.
 *
 * Pure; no privilege. The plan came from a process that may have been captured by its client, whose
 * ids are the kernel's word.
 */
#pragma once

#include "helper/plan/peer.h"
#include "helper/policy/policy.h"

/*
 * Of the grants and ceilings that are for the peer, as user, by a group or as everybody, the one
 * behind `last` in the policy's order: that of the text, ceilings last, without those that have
 * expired. The first for NULL; NULL: there is no other. In time that grows with the peer's groups
 * and with the logarithm of all grants.
 */
const struct policy_grant *admit_next(const struct policy *policy, const struct peer *peer,
                                      const struct policy_grant *last);

/* Whether the list has the text: "*", which may stand for all, is one like any other. */
bool admit_list_has(const struct policy_list *list, const char *text);

/* Root, but not that of a container. */
bool admit_is_administrator(const struct peer *peer);

/*
 * Brings a plan of which length bytes came, its head, as many steps as are used and as much of its
 * arena, to the shape that struct plan has. 0, or -EPROTO where no plan is like that: a number of
 * parts that there cannot be, other first steps than the supervisor's own, a share of a descriptor
 * that did not come.
 */
_must_check_ int admit_unpack(struct plan *plan, size_t length);

/*
 * Whether it is a plan for this peer, of a profile that some grant gives the peer, and what that
 * profile says: its name, identity, capabilities, labels, and host paths that are mounted; and no
 * more of the user's together than the grants bound. 0 or SECURITY_VIOLATION.
 */
_must_check_ int admit_check(const struct policy *policy, const struct peer *peer,
                             const struct plan *plan, struct yett_error *error);
