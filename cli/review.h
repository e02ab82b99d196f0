/*
 * What `yett diff` and `yett apply` have in common: finding the store, the paths that are asked
 * for, and a program beside the helper that does the work, by itself and confined.
 *
 * Runs as the caller.
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "libclient/yett.h"

/* As work_choose() has it, but for one that tells nothing of itself: YETT_E_INVALID_REQUEST. */
_must_check_ int review_find(const char *named, struct yett_work_list **ret_list,
                             const struct yett_work **ret_work, struct yett_error *error);

/* Below the directory that a store is about: what names another place is refused. Slashes at the
 * ends go. */
_must_check_ int review_check_paths(const char *subcommand, int count, char **paths,
                                    struct yett_error *error);

/* A child, and the ends of the pipes from it. */
struct review {
	const char *name, *variable; /* of its program, and of the environment variable that may
	                                name another */
	char *const *first; /* its arguments after the name; NULL stands for the number of a pipe */
	size_t first_count;
	char *const *paths; /* those after them, behind the names that yett_protect_list() tells and
	                       an empty one; ends with NULL */
	int out, notes;
	pid_t pid;
};

/* descriptors whose numbers the program is told, as it reads them of its arguments: its output,
 * then its notes */
#define REVIEW_PIPES 2

/* Starts the program, which is beside the helper. `input` is its descriptor 0, `fds` are passed on.
 */
_must_check_ int review_start(struct review *review, int input, const int *fds, size_t count,
                              struct yett_error *error);

/* The notes of a program, a line each. */
void review_tell(FILE *from);

/* The output, by `print`, and the notes; then its end: the status of waitpid(2), -1: its pipes
 * could not be read. Closes both. */
int review_finish(struct review *review, void (*print)(FILE *from));
