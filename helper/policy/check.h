/*
 * What a policy says of the host's paths, compared with the host: only root can look everywhere.
 *
 * As root, by lstat(2) only, on paths that the administrator wrote. Nothing is changed.
 */
#pragma once

#include "helper/policy/policy.h"

/*
 * Whether nobody but root and `owner` can rename what the policy's shares and rules name. 0 or
 * YETT_E_INVALID_REQUEST with "FILE:LINE: what"; -ENOMEM.
 */
_must_check_ int check_paths(const struct policy *policy, uid_t owner, struct yett_error *error);
