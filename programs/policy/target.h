/*
 * What may be said of a sandbox, by a policy or by a request: the rules that need nobody else's
 * word.
 *
 * Pure; no privilege. yett-policy applies them to the policy, planning to a request; root has
 * path.c alone.
 */
#pragma once

#include "helper/policy/policy.h"

/* NULL when there is none. */
const struct policy_profile *policy_find_profile(const struct policy *policy, const char *name);

/*
 * Why nothing may be mounted at `target` in a sandbox of `profile`, as the end of a sentence; NULL
 * when it may. It must be absolute and normalized, and hide none of what makes the sandbox: /proc,
 * /sys, /dev, /etc itself, its own files in /run, those system directories of the profile where
 * programs are. Pure.
 */
const char *policy_target_problem(const struct policy_profile *profile, const char *target);

/* Why a sandbox cannot have this host name; NULL when it can. Pure. */
const char *policy_hostname_problem(const char *name);
