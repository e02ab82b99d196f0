/*
 * Names that are not taken over unless somebody names them: what programs execute, or are told by, without being asked to.
 *
 * Pure. Names are compared as the file systems that fold them would: case, characters that do not show, the short names of NTFS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The table: a name, or some with slashes between, at any depth, with all below; "*" at the end stands for any end. Ends with NULL. */
extern const char *const protect_names[];

/* The same, as the user has listed them; NULL: none. Set once, before anything is looked at. */
extern const char *const *protect_own;

/* The same in a directory that is a git repository, which has hooks and a configuration. Ends with NULL. */
extern const char *const protect_in_repository[];

/* Whether a directory ("" is the top) is, or is going to be, one that git takes for a repository although it is not called .git. */
typedef bool (*protect_is_repository)(void *context, const char *directory);

/* How many names in a row an entry may tell of: what comes earlier is as it was of any path that begins so. */
#define PROTECT_NAMES 4

/*
 * Whether `path`, or a directory it is in, has such a name. `is_directory`: the path is one of those. *clean is where in the path, at the
 * begin of a name, to begin to look, and where it came to.
 */
bool protect(const char *path, bool is_directory, size_t *clean, protect_is_repository is_repository, void *context);
