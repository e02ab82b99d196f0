/*
 * What the programs of a sandbox did not reach, told at its end in a line each: what they were kept
 * from, with what would let them, and what they were allowed to reach and could not.
 *
 * By the sandbox's events, which are read while its command runs. Where it cannot be followed,
 * nothing is told.
 */
#pragma once

#include "libclient/yett.h"

#define BLOCKED_MAX       8 /* different ones that are told of in a line; of the others how many */
#define BLOCKED_TEXT_SIZE (4 * YETT_PEER_RULE_SIZE) /* each byte escaped */

struct blocked_row {
	char peer[BLOCKED_TEXT_SIZE];
	char mend[BLOCKED_TEXT_SIZE]; /* what --allow would take; empty: nothing allows it */
	const char *why;              /* static; empty: the mend says enough */
	uint64_t count;
};

struct blocked_list {
	struct blocked_row rows[BLOCKED_MAX];
	size_t count;
	uint64_t others;
};

struct blocked {
	struct yett_events *events; /* NULL: none */
	struct blocked_list denied, unreached;
};

/*
 * Why what was allowed was not reached, by the error of YETT_EVENT_UNREACHABLE: an errno has other
 * words where it is about a name. Static.
 */
const char *blocked_error_text(int error);

/* yett_peer_text(), escaped. Returns `out`. */
const char *blocked_print_peer(const struct yett_peer *peer, char out[BLOCKED_TEXT_SIZE]);

void blocked_begin(struct blocked *blocked, struct yett_connection *connection,
                   const struct yett_sandbox_info *info);

/* For poll(2), readable when blocked_read() has something to do; -1: never. */
int blocked_fd(const struct blocked *blocked);
void blocked_read(struct blocked *blocked);

/* Hears what there is until the sandbox has ended, tells, and ends it. */
void blocked_end(struct blocked *blocked);
