/* SPDX-License-Identifier: Apache-2.0 */
/* See diff.h. */
#include "workspace/diff/diff.h"

#include <string.h>
#include <sys/sysmacros.h>

unsigned decide(uint32_t source_mode, uint32_t upper_mode, bool is_whiteout)
{
	uint32_t now = is_whiteout ? 0 : upper_mode;
	unsigned todo = 0;

	if (source_mode && now && (source_mode & S_IFMT) == (now & S_IFMT))
		return S_ISDIR(now) ? DECIDE_COMPARE | DECIDE_WALK_BOTH : DECIDE_COMPARE;
	if (source_mode)
		todo |= S_ISDIR(source_mode) ? DECIDE_DELETED | DECIDE_WALK_SOURCE : DECIDE_DELETED;
	if (now)
		todo |= S_ISDIR(now) ? DECIDE_ADDED | DECIDE_WALK_UPPER : DECIDE_ADDED;
	return todo;
}

bool decide_is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

static bool is_at_or_below(const char *path, const char *top)
{
	size_t length = strlen(top);

	return strncmp(path, top, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

bool decide_is_wanted(const struct diff *diff, const char *path, bool or_above)
{
	for (size_t i = 0; i < diff->wanted_count; i++)
		if (is_at_or_below(path, diff->wanted[i]) ||
		    (or_above && (!*path || is_at_or_below(diff->wanted[i], path))))
			return true;
	return diff->wanted_count == 0;
}
