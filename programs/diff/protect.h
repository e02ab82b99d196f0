/*
 * Names that yett apply does not take over unless somebody names them: what programs execute, or
 * are told by, without being asked to.
 *
 * Pure. A list of such programs never ends, so that whole kinds are meant: each name that begins
 * with a dot, and by classes what does not. Names are compared as the file systems that fold them
 * would: case, characters that do not show, the short names of NTFS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* At any depth, with all below; only at the top; or only what is no directory. */
enum protect_where { PROTECT_ANYWHERE, PROTECT_AT_TOP, PROTECT_FILES };

/* A name, or some with slashes between; "*" at an end of one stands for anything. Lists end with
 * NULL. */
struct protect_class {
	const char *why; /* "builds go by it"; NULL ends the table */
	const char *const *names;
	enum protect_where where;
};

extern const struct protect_class protect_classes[];

/* Files whose names begin with a dot, and that only say what is left out, or how text looks.
 * Written just so. */
extern const char *const protect_harmless[];

/* The same as a class, as the user has listed them; NULL: none. Set once, before anything is looked
 * at. */
extern const char *const *protect_own;

/*
 * Takes these from a program's arguments, from the one numbered `first` to an empty one, which
 * becomes their end. Which argument comes behind it; 0: there is no end.
 */
int protect_take(int argc, char **argv, int first);

/* The same in a directory that is a git repository, which has hooks and a configuration. */
extern const char *const protect_in_repository[];

#define PROTECT_WHY_SHORT  "it may stand for a name that begins with a dot"
#define PROTECT_WHY_DOT    "programs look for what begins with a dot"
#define PROTECT_WHY_GIT    "git goes by it"
#define PROTECT_WHY_LISTED "it is listed"

/* Whether a directory ("" is the top) is, or is going to be, one that git takes for a repository
 * although it is not called .git. */
typedef bool (*protect_is_repository)(void *context, const char *directory);

/* How much of a path it takes to the first name that git would take for .git; 0: it has none. */
size_t protect_find_git(const char *path);

/* How many names before another one an entry may begin that tells of both: what comes earlier is as
 * it was of any path that begins so. */
unsigned protect_names_before(void);

/*
 * Why `path`, or a directory it is in, has such a name; NULL: it has not. `is_directory`: the path
 * is one of those. *clean is where in the path, at the begin of a name, to begin to look, and where
 * it came to: at the name that is protected, if one is.
 */
const char *protect(const char *path, bool is_directory, size_t *clean,
                    protect_is_repository is_repository, void *context);
