/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Access of git outside to a repository in a sandbox, for `yett git` and git-remote-yett.
 *
 * Runs as the caller. Do not trust anything that git inside prints or sends: the sandbox controls
 * it.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "cli/connect.h"
#include "libclient/yett.h"

#define GIT_PACK_BYTES   ((uint64_t)2 << 30)
#define GIT_MEMORY_BYTES ((uint64_t)512 << 20) /* of each process of git outside */
#define GIT_CPU_SECONDS  1200
#define GIT_LINE_SIZE    16384

struct git_choice {
	struct connect_choice connect;
	const char *directory; /* inside; NULL: the copy-on-write share */
	uint64_t max_bytes;
};

/*
 * The sandbox that commits are fetched from: an existing one, or a temporary one that is made over
 * a store.
 */
struct git_origin {
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	bool is_made; /* it is temporary, and ended by git_origin_close() */
	char id[YETT_ID_SIZE];
	char directory[PATH_MAX];
};

/*
 * Finds or makes the sandbox for `name`, a sandbox or a store; NULL: the store for the current
 * directory. Call git_origin_close() in every case.
 */
_must_check_ int git_origin_open(struct git_origin *origin, const struct git_choice *choice,
                                 const char *name, struct yett_error *error);
void git_origin_close(struct git_origin *origin);

/*
 * Returns the URL for git outside to fetch from, which runs git upload-pack inside. The caller
 * frees it. NULL: out of memory, or the path of this program cannot be determined.
 */
char *git_origin_url(const struct git_origin *origin, const struct git_choice *choice);

/*
 * Reads the next line of untrusted text, without its end. Cuts a longer line, and replaces NUL by
 * '?'. False: no further line.
 */
_must_check_ bool git_next_line(FILE *from, char line[GIT_LINE_SIZE]);

/*
 * Runs git outside with the arguments `words`, the last of which is the URL of git_origin_url(),
 * and then `more`, and waits until it ends. Prints its stderr, escaped and without the line that
 * shows that URL. `out` becomes its stdout; -1: it has ours. git checks all objects that it
 * receives. Limits, also for this process: files to choice->max_bytes, memory to GIT_MEMORY_BYTES
 * and processor time to GIT_CPU_SECONDS. Returns whether git ended with status 0; otherwise sets
 * `error`.
 */
_must_check_ bool git_run(const struct git_choice *choice, const char *const *words, size_t count,
                          char **more, size_t more_count, int out, struct yett_error *error);
