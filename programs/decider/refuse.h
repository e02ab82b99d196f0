/*
 * Completes errors about a key of a grant or ceiling, with the file and line of that key.
 *
 * Pure: no I/O header, no privilege.
 */
#pragma once

#include "helper/policy/policy.h"

/*
 * Adds to an error that error_set() filled: the key that refuses (also a key that the policy does
 * not write), the value asked for and the value allowed. `allowed` is unused for a key that is a
 * struct policy_list, whose items are shown. Returns the code of the error.
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
