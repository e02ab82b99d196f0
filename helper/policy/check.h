/*
 * Comparing a policy that was read with itself and with the host.
 *
 * Runs with the privilege of the loader and only looks: accounts by NSS, the directories that rules name by lstat(2),
 * /etc/subuid and /etc/subgid. Nothing is changed but the resolved ids of grants and the masks of capabilities.
 */
#pragma once

#include "helper/policy/policy.h"

/*
 * Resolves accounts and capabilities; checks that named profiles exist, that a profile hides none of its own system
 * directories, that nobody but root and `owner` can rename what a path rule names, and that the private ids are
 * free. 0, -errno, or YETT_E_INVALID_REQUEST / YETT_E_SECURITY_VIOLATION with "FILE:LINE: what".
 */
_must_check_ int check_policy(struct policy *policy, uid_t owner, struct yett_error *error);

/* Whether a line of subuid(5) or subgid(5) overlaps [first, end). A malformed line is -EINVAL. */
_must_check_ int check_subid_line(const char *line, uint64_t first, uint64_t end);
