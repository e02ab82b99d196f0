/*
 * The current directory: whether it is shared by default, and where a command starts.
 *
 * Pure decisions over paths, so that a test needs no directories; the paths come from getcwd(3) and
 * realpath(3).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "libclient/yett.h"

enum workdir {
	WORKDIR_SHARE,     /* share it read-only */
	WORKDIR_IS_SHARED, /* a share that was asked for shows it, or what it is to show there */
	WORKDIR_HOME,      /* it is the home directory, or one above it */
	WORKDIR_GONE,      /* there is none any more, or it cannot be told */
	WORKDIR_SYSTEM,    /* it is "/", a system directory, or one below such */
};

/*
 * `directory`, `home` (NULL: none) and the paths of `shares` are absolute and free of symbolic
 * links; their targets are absolute.
 */
enum workdir workdir_decide(const char *directory, const char *home,
                            const struct yett_share *shares, size_t count);

/*
 * Where `directory` is inside, as far as the shares show it, in out[0 … size); false when they do
 * not. Of two shares that show it the one of the directory closest to it counts.
 */
bool workdir_inside(const char *directory, const struct yett_share *shares, size_t count, char *out,
                    size_t size);

/* Whether every profile's template is likely to show `path`, being below /usr or its like. */
bool workdir_in_template(const char *path);

/* What a person is told when nothing is shared. */
const char *workdir_why(enum workdir decision);
