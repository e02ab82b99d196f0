/* SPDX-License-Identifier: Apache-2.0 */
/* See store.h. */
#include "checkpoint/store.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/sized.h"
#include "checkpoint/location.h"

#define TIMEOUT_MS 10000
#define MIB        (UINT64_C(1) << 20)
#define STATE_MAX  (16 * MIB)
/* Below SQLite's limit of 1,000,000,000 bytes for a row: sqlite.org/limits.html, 1. */
#define STATE_MAX_MAX (512 * MIB)
#define THREAD_MAX    1000
#define TOTAL_MAX     10000
#define BYTES_MAX     (1024 * MIB)

static SIZED_KIND(options_store, yett_checkpoint_store_options, ttl_ms, ttl_ms);

static int checkpoint_store_check(const struct yett_checkpoint_store_options *options,
                                  struct yett_error *error)
{
	const uint32_t known =
		YETT_CHECKPOINT_MEMORY | YETT_CHECKPOINT_EXISTING | YETT_CHECKPOINT_LAZY;

	if (options->flags & ~known)
		return error_set(error, YETT_E_UNSUPPORTED, YETT_R_UNKNOWN_FIELD,
		                 "a flag of the store is not known: %x", options->flags & ~known);
	if (options->flags & YETT_CHECKPOINT_MEMORY &&
	    (options->path || options->flags != YETT_CHECKPOINT_MEMORY))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "a store in memory has neither a path nor another flag");
	if (options->timeout_ms > INT_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "a store waits for at most %d ms", INT_MAX);
	if (options->state_max != YETT_CHECKPOINT_UNLIMITED && options->state_max > STATE_MAX_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "a state can have at most %llu bytes",
		                 (unsigned long long)STATE_MAX_MAX);
	return 0;
}

static uint64_t checkpoint_store_limit(uint64_t asked, uint64_t otherwise)
{
	return asked ? asked : otherwise;
}

static void checkpoint_store_set_limits(struct yett_checkpoint_store *store,
                                        const struct yett_checkpoint_store_options *options)
{
	store->state_max = checkpoint_store_limit(options->state_max, STATE_MAX);
	if (store->state_max > STATE_MAX_MAX)
		store->state_max = STATE_MAX_MAX;
	store->thread_max = checkpoint_store_limit(options->thread_max, THREAD_MAX);
	store->total_max = checkpoint_store_limit(options->total_max, TOTAL_MAX);
	store->bytes_max = checkpoint_store_limit(options->bytes_max, BYTES_MAX);
	store->ttl_ms = checkpoint_store_limit(options->ttl_ms, YETT_CHECKPOINT_UNLIMITED);
}

int store_sweep(const struct yett_checkpoint_store *store, uint64_t *count,
                struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	uint8_t least[UUID_SIZE];
	struct timespec now;
	uint64_t now_ms;
	int r;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	now_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
	if (store->ttl_ms >= now_ms)
		return 0;
	r = database_prepare(&store->database, "DELETE FROM checkpoint WHERE id < ?1", &statement,
	                     error);
	if (r)
		return r;
	uuid_of_time(now_ms - store->ttl_ms, least);
	(void)sqlite3_bind_blob(statement, 1, least, sizeof least, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_DONE)
		return database_failed(&store->database, error);
	*count += (uint64_t)sqlite3_changes64(store->database.connection);
	return 0;
}

static int checkpoint_store_sweep(struct yett_checkpoint_store *store, struct yett_error *error)
{
	uint64_t count = 0;
	int r = database_begin(&store->database, error);

	return r ? r : database_end(&store->database, store_sweep(store, &count, error), error);
}

static int checkpoint_store_open_store(struct yett_checkpoint_store *store,
                                       const struct yett_checkpoint_store_options *options,
                                       struct yett_error *error)
{
	char path[PATH_MAX] = DATABASE_MEMORY;
	int r = 0;

	if (!(options->flags & YETT_CHECKPOINT_MEMORY))
		r = location_find(options->path, options->flags & YETT_CHECKPOINT_EXISTING, path,
		                  error);
	if (r)
		return r;
	store->path = strdup(path);
	if (!store->path)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for a store");
	checkpoint_store_set_limits(store, options);
	r = database_open(&store->database, store->path,
	                  options->timeout_ms ? options->timeout_ms : TIMEOUT_MS,
	                  options->flags & YETT_CHECKPOINT_LAZY ? DATABASE_LAZY : 0, error);
	if (r == 0 && store->ttl_ms != YETT_CHECKPOINT_UNLIMITED)
		r = checkpoint_store_sweep(store, error);
	return r;
}

int yett_checkpoint_store_open(const struct yett_checkpoint_store_options *options,
                               struct yett_checkpoint_store **ret_store, struct yett_error *error)
{
	struct yett_checkpoint_store_options known;
	struct yett_checkpoint_store *store;
	int r = sized_take(&options_store, options, &known, error);

	if (r == 0)
		r = checkpoint_store_check(&known, error);
	if (r)
		return r;
	store = calloc(1, sizeof *store);
	r = store ? checkpoint_store_open_store(store, &known, error)
	          : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                      "there is not enough memory for a store");
	if (r == 0)
		*ret_store = store;
	else
		yett_checkpoint_store_close(store);
	return r;
}

void yett_checkpoint_store_close(struct yett_checkpoint_store *store)
{
	if (!store)
		return;
	database_close(&store->database);
	free(store->path);
	free(store);
}
