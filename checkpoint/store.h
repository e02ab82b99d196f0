/*
 * A store that is open: its database and its limits.
 *
 * With the caller's privilege. Everything that a function of the library does is one transaction of
 * the database.
 */
#pragma once

#include "checkpoint/database.h"
#include "checkpoint/uuid.h"
#include "checkpoint/yett-checkpoint.h"

struct yett_checkpoint_store {
	struct database database;
	char *path;
	uint64_t state_max, thread_max, total_max, bytes_max, ttl_ms; /* UINT64_MAX: none */
};

/* Removes what is older than the store keeps it, and adds how many these were. Within a
 * transaction. */
_must_check_ int store_sweep(const struct yett_checkpoint_store *store, uint64_t *count,
                             struct yett_error *error);
