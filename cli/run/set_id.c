/* SPDX-License-Identifier: Apache-2.0 */
/* See set_id.h. */
#include "cli/run/set_id.h"

#include <fts.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether others may execute a file, or search a directory. */
static bool is_open_to_others(const struct stat *st)
{
	return st->st_mode & (S_IXGRP | S_IXOTH);
}

/* Whether others may search each directory above `path`, including "/". */
static bool is_reached_by_others(const char *path)
{
	char above[PATH_MAX];
	struct stat st;

	if (snprintf(above, sizeof above, "%s", path) >= (int)sizeof above)
		return true;
	for (char *slash; (slash = strrchr(above, '/')) != NULL; *slash = '\0') {
		slash[slash == above] = '\0';
		if (stat(above, &st) == 0 && !is_open_to_others(&st))
			return false;
		if (slash == above)
			break;
	}
	return true;
}

static bool is_gift(const char *path, const struct stat *st)
{
	bool is_set =
		st->st_mode & S_ISUID || (st->st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP);

	return is_set && is_open_to_others(st) && access(path, W_OK) == 0;
}

bool set_id_find(const char *directory, char *path, size_t size)
{
	char *const roots[] = {(char *)directory, NULL};
	FTS *tree = is_reached_by_others(directory)
	                    ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL)
	                    : NULL;
	FTSENT *entry;
	bool is_found = false;

	for (size_t i = 0;
	     tree && !is_found && i < SET_ID_ENTRIES_MAX && (entry = fts_read(tree)) != NULL; i++) {
		is_found =
			entry->fts_info == FTS_F && is_gift(entry->fts_accpath, entry->fts_statp);
		if (is_found)
			(void)snprintf(path, size, "%s", entry->fts_path);
		if (entry->fts_info == FTS_D && !is_open_to_others(entry->fts_statp))
			(void)fts_set(tree, entry, FTS_SKIP);
	}
	if (tree)
		(void)fts_close(tree);
	return is_found;
}
