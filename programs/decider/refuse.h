/*
 * Refusals by a key of a grant or a ceiling, with where it stands.
 *
 * Pure: no I/O header, no privilege.
 */
#pragma once

#include "helper/policy/policy.h"

/*
 * Adds to an error that error_set() filled the key which refuses, whether it is written or not,
 * what was asked of it and what it allows, which is unused where the key is a list. Returns the
 * error's code.
 */
int refuse_key(const struct policy_grant *grant, enum policy_key key, const char *asked,
               const char *allowed, struct yett_error *error);

/* PERMISSION_DENIED: the grant would give it, and has expired by `now`. */
int refuse_expired(const struct policy_grant *grant, uint64_t now, struct yett_error *error);

/* Writes down the rest of an error of the monitor's about how often the user may ask (error_key());
 * of any other one nothing. */
void refuse_rate(const struct policy *policy, struct yett_error *error);
