/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the host paths that a policy names: whether users without privilege could replace the
 * files there.
 *
 * Runs as root, because only root can look up every path. Uses only lstat(2), and only on paths
 * that the administrator wrote. Changes nothing.
 */
#pragma once

#include "helper/policy/policy.h"

/*
 * Checks that only root and `owner` can rename or replace the files that the policy's mounts,
 * devices and grants name. Returns 0, YETT_E_INVALID_REQUEST with "FILE:LINE: what", or -ENOMEM.
 */
_must_check_ int check_paths(const struct policy *policy, uid_t owner, struct yett_error *error);
