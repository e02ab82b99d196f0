/* SPDX-License-Identifier: Apache-2.0 */
/* See workdir.h. */
#include "cli/run/workdir.h"

#include <stdio.h>
#include <string.h>

#include "base/own_place.h"

enum workdir workdir_decide(const char *directory, const char *home,
                            const struct yett_share *shares, size_t count)
{
	/* A share shows the directory already, or shows something else in its place. */
	for (size_t i = 0; i < count; i++)
		if (own_place_is_below(directory, shares[i].path) ||
		    own_place_is_below(directory, shares[i].target))
			return WORKDIR_IS_SHARED;
	switch (own_place_of(directory, home)) {
	case OWN_PLACE_HOME:
		return WORKDIR_HOME;
	case OWN_PLACE_SYSTEM:
		return WORKDIR_SYSTEM;
	case OWN_PLACE_WORK:
		break;
	}
	return WORKDIR_SHARE;
}

bool workdir_inside(const char *directory, const struct yett_share *shares, size_t count, char *out,
                    size_t size)
{
	const struct yett_share *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (own_place_is_below(directory, shares[i].path) &&
		    (!best || strlen(shares[i].path) > strlen(best->path)))
			best = &shares[i];
	for (size_t i = 0; !best && i < count; i++)
		if (strcmp(directory, shares[i].target) == 0)
			return (size_t)snprintf(out, size, "%s", directory) < size;
	/* The path "/" ends with the slash that begins the rest. */
	return best &&
	       (size_t)snprintf(out, size, "%s%s", best->target,
	                        directory + (best->path[1] ? strlen(best->path) : 0)) < size;
}

bool workdir_in_template(const char *path)
{
	static const char *const shown[] = {"/bin",    "/lib",  "/lib32", "/lib64",
	                                    "/libx32", "/sbin", "/usr"};

	for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++)
		if (own_place_is_below(path, shown[i]))
			return true;
	return false;
}

const char *workdir_why(enum workdir decision)
{
	switch (decision) {
	case WORKDIR_HOME:
		return "nothing is shared: the current directory is, or holds, your home directory (--ro . shares it)";
	case WORKDIR_GONE:
		return "nothing is shared: the current directory was deleted, or cannot be reached";
	case WORKDIR_SYSTEM:
		return "nothing is shared: the current directory belongs to the system (--ro . shares it)";
	case WORKDIR_SHARE:
	case WORKDIR_IS_SHARED:
		break;
	}
	return "";
}
