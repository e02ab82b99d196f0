/*
 * Comparing a policy that was read with itself, and with the accounts of the host.
 *
 * In yett-policy, without privilege; only looks: accounts by NSS, /etc/subuid and /etc/subgid. What
 * only root can see, the directories that shares and rules name, is compared in policy/check.c.
 * Nothing is changed but the resolved ids of grants and the masks of capabilities.
 */
#pragma once

#include "programs/policy/compile.h"

/*
 * Resolves accounts and capabilities; checks that named profiles exist, that a profile hides none
 * of its own system directories, and that the private ids are free. 0, -errno, or
 * YETT_E_INVALID_REQUEST / YETT_E_SECURITY_VIOLATION with "FILE:LINE: what".
 */
_must_check_ int check_compiled(struct compiled *compiled, struct yett_error *error);

/* Whether a line of subuid(5) or subgid(5) overlaps [first, end). A malformed line is -EINVAL. */
_must_check_ int check_subid_line(const char *line, uint64_t first, uint64_t end);
