/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes errors about a key of a grant or ceiling, with the file and line of that key.
 *
 * Pure: no I/O header, no privilege.
 */
#pragma once

#include "helper/policy/policy.h"

/* The name of a key of grants and ceilings, such as "max_memory". */
const char *refuse_key_name(enum policy_key key);

/* The keyword of the section in the policy: "grant" or "ceiling". */
const char *refuse_section(const struct policy_grant *grant);

/*
 * Adds to an error that error_set() filled: the key that refuses the request, its file and line,
 * the value asked for and the value allowed. If the policy does not write the key, the file and
 * line are those of the grant. For a key that is a struct policy_list, `allowed` is unused, and the
 * error shows the items of the list. Returns the code of the error.
 */
int refuse_key(const struct policy_grant *grant, enum policy_key key, const char *asked,
               const char *allowed, struct yett_error *error);

/* Fills in and returns PERMISSION_DENIED: the grant that would allow the request has expired. */
int refuse_expired(const struct policy_grant *grant, uint64_t now, struct yett_error *error);

/*
 * Completes an error of the monitor about max_creations or max_requests (error_key()). Leaves every
 * other error as it is.
 */
void refuse_rate(const struct policy *policy, struct yett_error *error);
