/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy as it is written, while yett-policy compiles it: the part that the helper needs, and the
 * values that the compiler still converts. settings.h says which key sets which member.
 */
#pragma once

#include "helper/policy/policy.h"

enum settings_syscalls { SETTINGS_SYSCALLS_DEFAULT = 0, SETTINGS_SYSCALLS_STRICT = 1 };

/* Network rules. The origin of each rule is its index in `places`. */
struct settings_rules {
	struct net_list *list; /* NULL: the policy has none */
	size_t room;           /* bytes allocated */
	struct policy_place *places;
};

/* A profile as written: the part that the helper needs, and values that the compiler converts. */
struct settings_profile {
	struct policy_profile profile;
	char *description;
	char *extends;                         /* NULL: none */
	struct policy_list share_ro, share_rw; /* SOURCE or SOURCE:TARGET */
	struct policy_list tmpfs; /* TARGET or TARGET:SIZE; the default size is tmp_size */
	enum settings_syscalls syscalls;
	struct policy_list syscalls_allow, syscalls_deny, syscalls_log;
	struct settings_rules allow, deny;
	struct policy_place record_place;
};

/* A grant or ceiling as written. The user "*" means everyone. */
struct settings_grant {
	struct policy_grant grant;
	struct policy_list users, groups; /* names or numbers */
	struct settings_rules allow, deny;
};

/* A policy that owns its parts, unlike the result of policy_load(). */
struct compiled {
	struct policy policy; /* the source of the image */
	/* policy.profiles_count items; policy.profiles are copies of their `profile` members */
	struct settings_profile *profiles;
	struct settings_grant *grants;
	struct settings_rules proxy, direct; /* for every profile */
	uint32_t record;                     /* for every profile */
	struct policy_place record_place;
};
