/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checks that root makes itself before it carries out a plan: a short list, whatever
 * yett-decider has decided.
 *
 * Pure; no privilege. The plan comes from yett-decider, which its client may have compromised. The
 * peer's ids come from the kernel.
 */
#pragma once

#include "helper/plan/peer.h"
#include "helper/policy/policy.h"

/*
 * Iterates over the grants and ceilings that name the peer as a user, by a group or as everyone.
 * Returns the first one after `last`, in the policy's order (that of the text, ceilings last), or
 * the first of all if `last` is NULL; NULL if there is none. Skips those that have expired. Takes
 * time in proportion to the peer's groups and to the logarithm of the number of grants.
 */
const struct policy_grant *admit_next(const struct policy *policy, const struct peer *peer,
                                      const struct policy_grant *last);

/* Returns whether the list has exactly this text. "*" has no special meaning here. */
bool admit_list_has(const struct policy_list *list, const char *text);

/* Returns whether the peer is root and not confined. The root of a container is confined. */
bool admit_is_administrator(const struct peer *peer);

/*
 * Restores the layout of a plan of which `length` bytes were received: its head, then the steps
 * that are used, then the part of the arena that is used. Returns 0, or -EPROTO for a malformed
 * plan: a count that is out of bounds, first steps that are not the supervisor's own (SLOT,
 * CGROUP), or a share of a descriptor that did not come.
 */
_must_check_ int admit_unpack(struct plan *plan, size_t length);

/*
 * Checks that the plan is for this peer, that some grant gives the peer the profile, and that the
 * plan agrees with the profile: name, identity, capabilities, labels and similar settings, and the
 * host paths that are mounted. Also checks that the limits on all of the user's sandboxes together
 * are within the bounds of the grants. Returns 0 or YETT_E_SECURITY_VIOLATION.
 */
_must_check_ int admit_check(const struct policy *policy, const struct peer *peer,
                             const struct plan *plan, struct yett_error *error);
