/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a policy as an image (helper/policy/image.h), with the same tables by which the helper
 * reads it. Part of yett-policy; pure except for the memory of `fd`, without privilege.
 */
#pragma once

#include "helper/policy/image.h"

/*
 * Fills the empty memfd with the result of compiling: `policy` if `r` is 0, else `error`. Returns 0
 * or -errno; -E2BIG: the policy is too large.
 */
_must_check_ int image_write(int fd, int r, const struct policy *policy,
                             const struct yett_error *error);
