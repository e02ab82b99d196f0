/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts about the directories on the way to a changed path, and the protected name on it.
 *
 * A sandbox can make trees of any depth and content. So the facts about a directory are kept for
 * the following paths in it.
 */
#pragma once

#include <limits.h>

#include "workspace/diff/diff.h"

struct ways {
	const struct diff *diff;
	char path[PATH_MAX];
	uint8_t known[PATH_MAX]; /* bits, indexed by the length of a directory's path */
	size_t clean;            /* length of the path's beginning that has no protected name */
	unsigned names_before;   /* protect_names_before() */
};

/* yett-apply uses the last two (look.c). */
enum { WAY_LOOKED_REPOSITORY = 1, WAY_REPOSITORY = 2, WAY_LOOKED_NEW = 4, WAY_NEW = 8 };

/* Call it before the first path. */
void ways_begin(struct ways *ways, const struct diff *diff);

/*
 * Moves to the path that is examined next, and keeps the facts that still hold. Paths may come in
 * any order.
 */
void ways_turn_to(struct ways *ways, const char *path);

/*
 * Returns what protects the path that ways_turn_to() moved to (protect.h). `was` and `is` are the
 * modes of its two sides; 0: no file.
 */
struct guard ways_guard(struct ways *ways, uint32_t was, uint32_t is);

/*
 * Writes "PATH: is protected (WHY)" without a newline. PATH is cut off after guard->length bytes.
 */
void ways_report_guard(FILE *to, const char *path, const struct guard *guard);

/* Whether the same name protects both paths. */
bool ways_is_same_guard(const char *path, const struct guard *guard, const char *other_path,
                        const struct guard *other);

/*
 * Sets for each change what protects its path (struct guard). If `stays` is false, also drops the
 * changes of git's own files in a .git that no wanted path names, and notes each such .git: nobody
 * reads these files, and yett git fetch brings the commits.
 */
void ways_guard_changes(struct diff *diff, bool stays);
