/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether the current directory is shared by default, and where a command starts.
 *
 * Pure functions over paths, so that tests need no directories. The paths come from getcwd(3) and
 * realpath(3).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "libclient/yett.h"

enum workdir {
	WORKDIR_SHARE,     /* share it read-only */
	WORKDIR_IS_SHARED, /* a requested share shows it, or shows something else in its place */
	WORKDIR_HOME,      /* the home directory, or a directory above it */
	WORKDIR_GONE,      /* deleted, or cannot be determined */
	WORKDIR_SYSTEM,    /* "/", a system directory, or a directory below one */
};

/*
 * `directory`, `home` (NULL: none) and the paths of `shares` are absolute and without symbolic
 * links. Their targets are absolute.
 */
enum workdir workdir_decide(const char *directory, const char *home,
                            const struct yett_share *shares, size_t count);

/*
 * Stores the path of `directory` inside, as the shares show it, in out[0 … size). If several shares
 * show the directory, the most specific one decides. Returns false if no share shows it.
 */
bool workdir_inside(const char *directory, const struct yett_share *shares, size_t count, char *out,
                    size_t size);

/*
 * Whether the template of every profile probably contains `path`, because the path is below /usr or
 * similar.
 */
bool workdir_in_template(const char *path);

/* Returns why nothing is shared, as a note for the user; "" if something is shared. */
const char *workdir_why(enum workdir decision);
