/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Describes refusals by the policy in the policy's own terms: key, section and place.
 *
 * Pure functions with the privilege of the caller. yett-helper does not link this file: it only
 * records the key, with error_key().
 */
#pragma once

#include "base/error.h"

/*
 * The key of the policy that refuses a request. `file` and `line` are where the key is written, or
 * where its section begins if the policy does not set the key. Values are written as in the policy.
 */
struct error_rule {
	const char *key, *section, *name; /* "max_memory", "grant", "everyone" */
	const char *file;
	unsigned line; /* 0: `file` is FILE:LINE */
	/* What was asked for, and what the key allows. Line ends in `allowed` become spaces. */
	const char *asked, *allowed;
	bool is_list; /* the key is a list, and the fix is to add `asked` to it */
};

/*
 * Sets the detail and the fields about the policy (yett_error.h: rule, file, line, asked, allowed,
 * mend) of an error (may be NULL) that error_set() filled.
 */
void error_rest(struct yett_error *error, const struct error_rule *rule);
