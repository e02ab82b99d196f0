/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An open store: its database and its limits. Runs with the caller's privilege. Each function of
 * the library is one transaction of the database.
 */
#pragma once

#include "checkpoint/database.h"
#include "checkpoint/uuid.h"
#include "checkpoint/yett-checkpoint.h"

struct yett_checkpoint_store {
	struct database database;
	char *path;
	uint64_t state_max, thread_max, total_max, bytes_max, ttl_ms; /* UINT64_MAX: no limit */
};

/*
 * Removes checkpoints older than ttl_ms and adds their number to *count. Runs within a transaction.
 */
_must_check_ int store_sweep(const struct yett_checkpoint_store *store, uint64_t *count,
                             struct yett_error *error);
