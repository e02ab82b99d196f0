/* SPDX-License-Identifier: Apache-2.0 */
/* See target.h. No privilege. */
#include "programs/decide/policy/target.h"

#include <string.h>

#define HOSTNAME_MAX 64

/*
 * Nothing may be mounted at or below these: the kernel's own file systems, and the files that
 * describe the sandbox's users.
 */
static const char *const closed_trees[] = {"/proc",     "/sys",        "/dev",
                                           "/run/yett", "/etc/passwd", "/etc/group"};

/* Nothing may be mounted on these, because that would hide one of the trees above. */
static const char *const closed_points[] = {"/etc", "/run"};

const char *policy_target_problem(const struct policy_profile *profile, const char *target)
{
	const char *problem = policy_path_problem(target);

	if (problem)
		return problem;
	for (size_t i = 0; i < ARRAY_SIZE(closed_trees); i++)
		if (policy_path_is_in(target, closed_trees[i]))
			return "is a place where nothing is mounted (/proc, /sys, /dev, /run/yett, /etc/passwd, "
			       "/etc/group)";
	for (size_t i = 0; i < ARRAY_SIZE(closed_points); i++)
		if (strcmp(target, closed_points[i]) == 0)
			return "would hide what every sandbox needs";
	for (size_t i = 0; profile && i < profile->system.count; i++)
		if (policy_path_has_programs(profile->system.items[i]) &&
		    policy_path_is_in(profile->system.items[i], target))
			return "would hide a system directory of the profile";
	return NULL;
}

const char *policy_hostname_problem(const char *name)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
	size_t length = strlen(name);

	if (length == 0 || length > HOSTNAME_MAX || strspn(name, allowed) != length)
		return "is not a host name (letters, digits, . and -, at most 64)";
	if (name[0] == '-' || name[0] == '.')
		return "is not a host name: it begins with . or -";
	return NULL;
}

const struct policy_profile *policy_find_profile(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->profiles_count; i++)
		if (strcmp(policy->profiles[i].name, name) == 0)
			return &policy->profiles[i];
	return NULL;
}
