/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of `yett diff` and `yett apply`: checks the paths, and runs a program beside the
 * helper, which does the work in a confined process of its own.
 *
 * Runs as the caller.
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "libclient/yett.h"
#include "workspace/yett-workspace.h"

/*
 * Removes trailing slashes, and refuses empty names, "." and "..", so that each path is below the
 * directory that the store is about.
 */
_must_check_ int review_check_paths(const char *subcommand, int count, char **paths,
                                    struct yett_error *error);

/* A child process, and our ends of the pipes from it. */
struct review {
	/* yett-diff or yett-apply, and the environment variable that may name another program. */
	const char *name, *variable;
	char *const *first; /* the first arguments; NULL stands for the number of a pipe */
	size_t first_count;
	/*
	 * The last arguments, a list that ends with NULL. The names of yett_protect_list() and an
	 * empty argument come before them.
	 */
	char *const *paths;
	int out, notes;
	pid_t pid;
};

/*
 * The number of descriptors that the program gets as arguments: for its output, then for its notes.
 */
#define REVIEW_PIPES 2

/*
 * Starts the program, which is located beside the helper. `input` becomes its descriptor 0; it
 * inherits `fds`.
 */
_must_check_ int review_start(struct review *review, int input, const int *fds, size_t count,
                              struct yett_error *error);

/* Prints the notes of a program, one for each line. */
void review_report(FILE *from);

/*
 * Reads the output with `print`, then the notes, closes both, and waits for the program. Returns
 * its status as of waitpid(2), or -1 if the pipes could not be read.
 */
int review_finish(struct review *review, void (*print)(FILE *from));
