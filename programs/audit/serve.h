/*
 * yett-audit's loop: many are told of at once, written by one call, and answered when that is on
 * disk.
 *
 * Without privilege, below the filter of main.c. A connection is one record and one answer. Who
 * does not wait for the answer may go.
 */
#pragma once

#include "programs/audit/chain.h"

#define SERVE_CONNECTIONS_MAX 128

#define SERVE_TROUBLE_MS 10000 /* so long without files, and another process is to try */

struct serve_options {
	int listener, listening;
	const char *directory;
	uint64_t max_bytes, user_bytes; /* 0: no bound */
	uint8_t host[CHAIN_ID_SIZE];
	uid_t uid; /* that this runs as */
};

/* As root: opens the files, and gets all memory that there will be. 0 or -ENOMEM; files that cannot
 * be had each record is answered for. */
_must_check_ int serve_begin(const struct serve_options *options);

/* Until the listener has ended and all that is queued is answered; or until another process is to
 * go on. */
void serve_run(const struct serve_options *options);
