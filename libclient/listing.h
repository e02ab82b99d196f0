/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches the names in directories, so that a search for hundreds of paths need not ask the kernel
 * for each path. Runs as the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * A directory with so many names or more is not cached: reading it would take longer than asking
 * the kernel for each name.
 */
#define LISTING_NAMES_MAX 512

struct listing {
	struct listing *next;
	char *directory; /* relative to the start of the search; "" is the start itself */
	char **names;    /* sorted */
	size_t count;
	bool is_known;
};

/*
 * Returns whether `path`, relative to the directory `at`, may exist. Returns false only if a
 * directory on the way was read and lacks the name. `*listings` caches what was read, for further
 * paths relative to the same directory. Initialize it to NULL and free it with listings_free().
 */
bool listing_may_have(struct listing **listings, int at, const char *path);
void listings_free(struct listing **listings);
