/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the texts of policy files into a complete, checked policy with its system call filters.
 * Part of yett-policy; runs without privilege. Opens no policy file itself. Asks NSS for accounts,
 * and reads /etc/subuid and /etc/subgid (check.h).
 */
#pragma once

#include "programs/decide/policy/compiled.h"

/* A file: its name for messages, and its text, which is modified. Both must outlive the policy. */
struct compile_text {
	char *name;
	char *text;
	size_t length;
};

/*
 * Returns 0, -ENOMEM, or YETT_E_INVALID_REQUEST / YETT_E_SECURITY_VIOLATION with the message
 * "FILE:LINE: what".
 */
_must_check_ int compile(const struct compile_text *texts, size_t count,
                         struct compiled **ret_compiled, struct yett_error *error);

/* dist/yett.conf, embedded by the build. */
extern const char policy_builtin_text[];

void compiled_free(struct compiled *compiled);
static inline void compiled_freep(struct compiled **compiled)
{
	compiled_free(*compiled);
}
