/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a policy for consistency and against the host's accounts. Part of yett-policy; runs
 * without privilege and only reads: accounts by NSS, /etc/subuid and /etc/subgid.
 *
 * The checks also fill in what needs them: the ids, notices and validity of grants, and the mounts
 * and capability masks of profiles. helper/policy/check.c checks what only root can see, such as
 * the directories that shares and rules name.
 */
#pragma once

#include "programs/decide/policy/compiled.h"

/*
 * Resolves accounts and capabilities, and adds the mounts of profiles. Checks that a profile hides
 * none of its own system directories, and that no account uses the private ids. Returns 0, -errno,
 * or YETT_E_INVALID_REQUEST / YETT_E_SECURITY_VIOLATION with the message "FILE:LINE: what".
 */
_must_check_ int check_compiled(struct compiled *compiled, struct yett_error *error);

/*
 * Returns 1 if a line of subuid(5) or subgid(5) overlaps the ids [first, end), 0 if it does not, or
 * -EINVAL if it is malformed.
 */
_must_check_ int check_subid_line(const char *line, uint64_t first, uint64_t end);
