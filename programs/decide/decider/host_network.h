/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network mode "host": the sandbox is in the network namespace of the host. No proxy handles
 * its connections, and nothing limits them.
 *
 * Pure; no privilege. Settings that only work in the other modes are refused, so that no denial and
 * no limit is dropped silently.
 */
#pragma once

#include "programs/decide/decider/decision.h"

/*
 * Checks a decision with the network host, which the grant allows. Returns 0; SECURITY_VIOLATION
 * for a confined client; INVALID_REQUEST if the request has rules or asks for private addresses;
 * PERMISSION_DENIED if the profile denies or limits something, or has nested user namespaces.
 */
_must_check_ int host_network_check(const struct policy *policy, const struct decision *decision,
                                    struct yett_error *error);
