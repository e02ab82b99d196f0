/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that yett apply leaves out unless the user names them: files that programs execute or obey
 * without being asked to.
 *
 * Pure. No list of such programs can be complete. So whole kinds are protected: every name that
 * begins with a dot, and classes of other names. Names are compared as a file system that folds
 * names would compare them: case and invisible characters are ignored, and short names of NTFS
 * count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Where a class applies: at any depth, with everything below; only at the top; or only to files
 * that are not directories.
 */
enum protect_where { PROTECT_ANYWHERE, PROTECT_AT_TOP, PROTECT_FILES };

/*
 * Names, or paths of several names; "*" at the beginning or end of a name matches anything. A list
 * ends with NULL.
 */
struct protect_class {
	const char *why; /* such as "builds go by it"; NULL ends the table */
	const char *const *names;
	enum protect_where where;
};

extern const struct protect_class protect_classes[];

/*
 * Files whose names begin with a dot, but that only list what is ignored or describe how text
 * looks. These names must match exactly, without folding.
 */
extern const char *const protect_harmless[];

/*
 * A further class: the names that the user has listed; NULL: none. Set once, before anything is
 * compared.
 */
extern const char *const *protect_own;

/*
 * Sets protect_own from a program's arguments: those from index `first` to an empty argument, which
 * is replaced by the final NULL. Returns the index of the argument after the empty one; 0: there is
 * no empty one.
 */
int protect_take(int argc, char **argv, int first);

/*
 * A further class, for a directory that is a git repository, which has hooks and a configuration.
 */
extern const char *const protect_in_repository[];

#define PROTECT_WHY_SHORT  "it may stand for a name that begins with a dot"
#define PROTECT_WHY_DOT    "programs look for what begins with a dot"
#define PROTECT_WHY_GIT    "git goes by it"
#define PROTECT_WHY_LISTED "it is listed"

/*
 * Whether git takes a directory ("": the top) for a repository, or would after the changes,
 * although its name is not .git.
 */
typedef bool (*protect_is_repository)(void *context, const char *directory);

/*
 * Returns the length of the path up to and including the first name that git would take for .git;
 * 0: there is none.
 */
size_t protect_find_git(const char *path);

/*
 * Returns how many names an entry of protect_own may have before its last one. Where a path
 * continues another one, only so many of the common names can belong to a new match.
 */
unsigned protect_names_before(void);

/*
 * Returns why `path`, or a directory above it, is protected; NULL: it is not. `is_directory`: the
 * path is a directory. The search begins at offset *clean, where a component of the path must
 * begin. On return, *clean is the offset of the component that the search ended at: the protected
 * one, or the last.
 */
const char *protect(const char *path, bool is_directory, size_t *clean,
                    protect_is_repository is_repository, void *context);
