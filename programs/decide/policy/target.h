/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules on what a policy or a request may say of a sandbox, as far as they can be checked without
 * the host. Pure; no privilege. yett-policy applies them to the policy, and the decider to a
 * request. Root's programs have only helper/policy/path.c.
 */
#pragma once

#include "helper/policy/policy.h"

/* NULL if there is no such profile. */
const struct policy_profile *policy_find_profile(const struct policy *policy, const char *name);

/*
 * Returns why nothing may be mounted at `target` in a sandbox of `profile` (may be NULL), as the
 * end of a sentence; NULL if it may. The target must be absolute and normalized. It may not hide
 * what the sandbox needs: /proc, /sys, /dev, /etc itself, the sandbox's files in /run, and those
 * system directories of the profile that contain programs. Pure.
 */
const char *policy_target_problem(const struct policy_profile *profile, const char *target);

/* Returns why a sandbox cannot have this host name, or NULL if it can. Pure. */
const char *policy_hostname_problem(const char *name);
