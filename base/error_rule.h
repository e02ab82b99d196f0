/*
 * Refusals that rest on the policy, in the words of those who read it. Root's program names the key
 * only: error_key().
 *
 * Pure functions with the privilege of the caller.
 */
#pragma once

#include "base/error.h"

/* A key of the policy that refuses, where it stands, or its section if it does not, and what it
 * bounds, as the policy writes it. */
struct error_rule {
	const char *key, *section, *name; /* "max_memory", "grant", "everyone" */
	const char *file;
	unsigned line;               /* 0: `file` is FILE:LINE */
	const char *asked, *allowed; /* these are shown with spaces for line ends */
	bool is_list;                /* to which what is asked would have to be added */
};

/* Sets the fields about the policy, as yett_error.h explains them, and the detail, of an error that
 * error_set() filled. */
void error_rest(struct yett_error *error, const struct error_rule *rule);
