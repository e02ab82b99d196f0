/*
 * A repository in a sandbox, as git outside gets to it: what yett git and git-remote-yett have in
 * common.
 *
 * Runs as the caller. What git inside says is a stranger's.
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
#define GIT_MEMORY_BYTES ((uint64_t)512 << 20) /* of each git outside */
#define GIT_CPU_SECONDS  1200
#define GIT_LINE_SIZE    16384

struct git_choice {
	struct connect_choice connect;
	const char *directory; /* inside; NULL: where what is copy-on-write is */
	uint64_t max_bytes;
};

/* Where it is fetched from: a sandbox that is there, or one that is made over a store for the time.
 */
struct git_origin {
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	bool is_made; /* for the time */
	char id[YETT_ID_SIZE];
	char directory[PATH_MAX];
};

/* `name` is a sandbox or a store. To be closed in every case. */
_must_check_ int git_origin_open(struct git_origin *origin, const struct git_choice *choice,
                                 const char *name, struct yett_error *error);
void git_origin_close(struct git_origin *origin);

/* What git outside is told to fetch from: upload-pack inside. To be freed; NULL: no memory. */
char *git_origin_url(const struct git_origin *origin, const struct git_choice *choice);

/* The next line of a stranger's, without its end; what is longer is cut, and 0 becomes '?'. False:
 * there is none. */
_must_check_ bool git_next_line(FILE *from, char line[GIT_LINE_SIZE]);

/*
 * Runs a git outside with `words`, of which the last is what git_origin_url() made, and then
 * `more`, until it ends; what it says is shown, escaped, but for the line that is that URL. `out`
 * is its standard output, -1: ours. It takes no file that is larger than was chosen and no more
 * memory and processor time than this, and checks all objects. True: it ended well; false, with a
 * reason: it did not.
 */
_must_check_ bool git_run(const struct git_choice *choice, const char *const *words, size_t count,
                          char **more, size_t more_count, int out, struct yett_error *error);
