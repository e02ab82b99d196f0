/*
 * Writing a policy as an image (policy/image.h), by the same tables that the helper reads it by.
 *
 * In yett-policy, without privilege; pure but for the memory of `fd`.
 */
#pragma once

#include "helper/policy/image.h"

/* Fills the empty memfd with what came of compiling: `policy` if `r` is 0, else `error`. 0 or
 * -errno; -E2BIG: too large. */
_must_check_ int image_write(int fd, int r, const struct policy *policy,
                             const struct yett_error *error);
