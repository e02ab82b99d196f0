/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies a directory as a user's work, a user's home or the system's. If no person
 * named a directory explicitly, callers share it only if it is work.
 *
 * Pure functions over absolute paths without symbolic links. Opens nothing; needs no privilege.
 */
#pragma once

#include <stdbool.h>

enum own_place {
	/* Neither of the others. */
	OWN_PLACE_WORK,
	/* The home directory, or a directory above it that is not a system directory. */
	OWN_PLACE_HOME,
	/*
	 * "/", a system directory such as /home or /usr, or anything below one such as /usr, even a
	 * home. A home directory such as /root itself is OWN_PLACE_HOME.
	 */
	OWN_PLACE_SYSTEM,
};

/* `home` may be NULL if the user has no home directory. */
enum own_place own_place_of(const char *directory, const char *home);

/* Whether `path` is `directory` or below it. */
bool own_place_is_below(const char *path, const char *directory);
