/*
 * The way to what was changed: what is known of the directories on it, and which of its names is
 * protected.
 *
 * A sandbox makes trees as deep as it likes, with as much in them: what was found out about a
 * directory is kept for what follows in it.
 */
#pragma once

#include <limits.h>

#include "programs/diff/diff.h"

struct ways {
	const struct diff *diff;
	char path[PATH_MAX];
	uint8_t known[PATH_MAX]; /* bits, by the length of a directory's path */
	size_t clean;            /* in how much of the path there is no protected name */
	unsigned names_before;   /* protect_names_before() */
};

/* The others are apply's (look.c). */
enum { WAY_LOOKED_REPOSITORY = 1, WAY_REPOSITORY = 2, WAY_LOOKED_NEW = 4, WAY_NEW = 8 };

/* Before the first path. */
void ways_begin(struct ways *ways, const struct diff *diff);

/* To the path that is looked at next, of which something may be known already. In any order. */
void ways_turn_to(struct ways *ways, const char *path);

/* What protects the path that was turned to, by protect.h. `was` and `is` are the modes of its two
 * sides; 0: there is none. */
struct guard ways_guard(struct ways *ways, uint32_t was, uint32_t is);

/* "PATH: is protected (WHY)", without an end of the line: as much of a path as the guard says. */
void ways_tell_guard(FILE *to, const char *path, const struct guard *guard);

/* Whether it is by the same name that both are protected. */
bool ways_is_same_guard(const char *path, const struct guard *guard, const char *other_path,
                        const struct guard *other);

/*
 * Finds for all changes what protects them. What git keeps in a .git that no wanted path names is
 * told in the notes and, unless it `stays`, left out: nobody reads it, and commits come by yett git
 * fetch.
 */
void ways_guard_changes(struct diff *diff, bool stays);
