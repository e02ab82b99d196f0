/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the host's paths in a policy with the host. Only root can look everywhere.
 *
 * Runs as root, uses only lstat(2), and only on paths that the administrator wrote. Changes
 * nothing.
 */
#pragma once

#include "helper/policy/policy.h"

/*
 * Checks that only root and `owner` can rename the files that the policy's mounts and rules name.
 * Returns 0, YETT_E_INVALID_REQUEST with "FILE:LINE: what", or -ENOMEM.
 */
_must_check_ int check_paths(const struct policy *policy, uid_t owner, struct yett_error *error);
