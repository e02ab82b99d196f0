/*
 * From the texts of policy files to a policy, complete and checked against itself, with its system
 * call filters.
 *
 * In yett-policy, without privilege. Opens no policy file itself; asks NSS for accounts, and
 * /etc/subuid and /etc/subgid for the ids of others (check.h).
 */
#pragma once

#include "programs/policy/settings.h"

/* One file: the name that places show, and its text, which is changed. Both must outlive the policy
 * made of them. */
struct compile_text {
	char *name;
	char *text;
	size_t length;
};

/* A policy that owns its parts, unlike one of policy_load(). */
struct compiled {
	struct policy policy;              /* what the image is made of */
	struct settings_profile *profiles; /* as many as the policy has; policy.profiles are copies
	                                      of their beginnings */
	struct settings_grant *grants;
	struct settings_rules proxy, direct; /* of every profile */
	uint32_t record;                     /* likewise */
	struct policy_place record_place;
};

/* 0, -ENOMEM, or YETT_E_INVALID_REQUEST / YETT_E_SECURITY_VIOLATION with "FILE:LINE: what" as
 * message. */
_must_check_ int compile(const struct compile_text *texts, size_t count,
                         struct compiled **ret_compiled, struct yett_error *error);

/* dist/yett.conf, embedded by the build. */
extern const char policy_builtin_text[];

void compiled_free(struct compiled *compiled);
static inline void compiled_freep(struct compiled **compiled)
{
	compiled_free(*compiled);
}
