/*
 * The network host: a sandbox in the network namespace of the host, where nobody serves what it
 * connects to, and nothing bounds it.
 *
 * Pure; no privilege. What has a meaning only in the other networks is refused, so that nothing
 * that somebody denied or bounded is lost without a word.
 */
#pragma once

#include "programs/decider/authorize.h"

/*
 * Whether the decision, whose network the grant allows, may be that: not for a client that is
 * confined (SECURITY_VIOLATION), not with rules of the request (INVALID_REQUEST), and not where the
 * profile denies or bounds something, or has user namespaces (PERMISSION_DENIED).
 */
_must_check_ int host_network_check(const struct policy *policy, const struct decision *decision,
                                    struct yett_error *error);
