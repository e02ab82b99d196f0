/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects which connections of a sandbox were blocked, and which were allowed but failed, and
 * prints both at its end, a line each, with the --allow options that would allow the blocked ones.
 *
 * Reads the events of the sandbox while its command runs. If the events cannot be followed, nothing
 * is printed. Runs as the caller.
 */
#pragma once

#include "libclient/yett.h"

#define BLOCKED_MAX       8 /* distinct peers that a line lists; further ones are only counted */
#define BLOCKED_TEXT_SIZE (4 * YETT_PEER_RULE_SIZE) /* an escaped byte takes four */

struct blocked_row {
	char peer[BLOCKED_TEXT_SIZE];
	char mend[BLOCKED_TEXT_SIZE]; /* the value for --allow; empty: no rule allows the peer */
	const char *why;              /* static text; empty: `mend` says enough */
	uint64_t count;
};

struct blocked_list {
	struct blocked_row rows[BLOCKED_MAX];
	size_t count;
	uint64_t others;
};

struct blocked {
	struct yett_events *events; /* NULL: not followed */
	struct blocked_list denied, unreached;
};

/*
 * Returns the text for the error of YETT_EVENT_UNREACHABLE, which may be YETT_EVENT_OF_PROXY or
 * more. Some values of errno have another meaning here than in strerror(3), since they are about a
 * name. The text is static.
 */
const char *blocked_error_text(int error);

/* Writes yett_peer_text(), escaped, to `out`. Returns `out`. */
const char *blocked_print_peer(const struct yett_peer *peer, char out[BLOCKED_TEXT_SIZE]);

void blocked_begin(struct blocked *blocked, struct yett_connection *connection,
                   const struct yett_sandbox_info *info);

/* For poll(2): readable when blocked_read() has something to do; -1: nothing to wait for. */
int blocked_fd(const struct blocked *blocked);
void blocked_read(struct blocked *blocked);

/*
 * Reads the remaining events until the sandbox has ended, prints what was collected, and closes the
 * event stream.
 */
void blocked_end(struct blocked *blocked);
