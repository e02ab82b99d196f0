/*
 * The names in directories, read once, so that a search for hundreds of paths need not ask the
 * kernel for each. Runs as the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* of a larger directory nothing is known: reading all of it would take longer than asking for each
 * name */
#define LISTING_NAMES_MAX 512

struct listing {
	struct listing *next;
	char *directory; /* relative to where the search begins; "" is that itself */
	char **names;    /* sorted */
	size_t count;
	bool is_known;
};

/*
 * Whether `path`, relative to the directory `at`, may exist: false only where a directory on the
 * way was read and lacks the name.
 * `*listings` keeps what was read, for further paths relative to the same directory; begin with
 * NULL, end with listings_free().
 */
bool listing_may_have(struct listing **listings, int at, const char *path);
void listings_free(struct listing **listings);
