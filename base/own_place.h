/*
 * Whether a directory is somebody's work, or their home, or the system's: what is shared unasked,
 * or by whoever is not a person.
 *
 * Pure decisions over paths that are absolute and free of symbolic links; nothing is opened.
 */
#pragma once

#include <stdbool.h>

enum own_place {
	OWN_PLACE_WORK,   /* none of the others */
	OWN_PLACE_HOME,   /* the home directory, or one above it */
	OWN_PLACE_SYSTEM, /* "/", a system directory, or one below such */
};

/* `home` may be NULL: none. */
enum own_place own_place_of(const char *directory, const char *home);

/* Whether `path` is `directory` or below it. */
bool own_place_is_below(const char *path, const char *directory);
