/* SPDX-License-Identifier: Apache-2.0 */
/* See listing.h. */
#include "libclient/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"

static int listing_compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void listing_free(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++)
		free(listing->names[i]);
	free(listing->names);
	free(listing->directory);
	free(listing);
}

/* Leaves is_known false if the directory cannot be read or is too large, or memory is short. */
static void listing_read(struct listing *listing, int at)
{
	int fd = openat(at, *listing->directory ? listing->directory : ".",
	                O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!directory) {
		fd_close(fd);
		return;
	}
	listing->names = calloc(LISTING_NAMES_MAX, sizeof *listing->names);
	errno = 0;
	while (listing->names && listing->count < LISTING_NAMES_MAX && (entry = readdir(directory)))
		if ((listing->names[listing->count] = strdup(entry->d_name)))
			listing->count++;
	listing->is_known = listing->names && listing->count < LISTING_NAMES_MAX && errno == 0;
	if (listing->is_known)
		qsort(listing->names, listing->count, sizeof *listing->names,
		      listing_compare_names);
	(void)closedir(directory);
}

static struct listing *listing_find(struct listing **listings, int at, const char *directory,
                                    size_t length)
{
	struct listing *listing = *listings;

	while (listing &&
	       (strncmp(listing->directory, directory, length) != 0 || listing->directory[length]))
		listing = listing->next;
	if (listing)
		return listing;
	listing = calloc(1, sizeof *listing);
	if (!listing)
		return NULL;
	listing->directory = strndup(directory, length);
	if (!listing->directory) {
		free(listing);
		return NULL;
	}
	listing_read(listing, at);
	listing->next = *listings;
	*listings = listing;
	return listing;
}

bool listing_may_have(struct listing **listings, int at, const char *path)
{
	size_t begin = 0, length;

	do {
		const struct listing *listing =
			listing_find(listings, at, path, begin ? begin - 1 : 0);
		char *name;
		bool has;

		length = strcspn(path + begin, "/");
		name = strndup(path + begin, length);
		if (!listing || !listing->is_known || !name) {
			free(name);
			return true;
		}
		has = bsearch(&name, listing->names, listing->count, sizeof name,
		              listing_compare_names);
		free(name);
		if (!has)
			return false;
		begin += length + 1;
	} while (path[begin - 1]);
	return true;
}

void listings_free(struct listing **listings)
{
	while (*listings) {
		struct listing *next = (*listings)->next;

		listing_free(*listings);
		*listings = next;
	}
}
