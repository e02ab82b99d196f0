/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop of yett-audit: records of many clients are written by one call, and answered when
 * they are on disk. Runs without privilege, under the filter of main.c. A connection carries one
 * record and one answer. A client that does not need the answer may close the connection.
 */
#pragma once

#include "programs/audit/chain.h"

#define SERVE_CONNECTIONS_MAX 128

/* time without working files after which the process exits, so that a new one tries */
#define SERVE_TROUBLE_MS 10000

struct serve_options {
	int listener, listening;
	const char *directory;
	uint64_t max_bytes, user_bytes; /* 0: no limit */
	uint8_t host[CHAIN_ID_SIZE];
	uid_t uid; /* that this process runs as */
};

/*
 * Runs as root: opens the files, and allocates all memory. Returns 0 or -ENOMEM. If the files
 * cannot be opened, returns 0, and each record is answered with that error.
 */
_must_check_ int serve_begin(const struct serve_options *options);

/*
 * Serves until the listener has exited and everything queued is answered, or until a new process
 * must take over.
 */
void serve_run(const struct serve_options *options);
