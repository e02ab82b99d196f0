/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Putting a checkpoint, and removing others to stay within the limits. Runs with the caller's
 * privilege. The whole is one transaction, so that the new id is greater than all ids that others
 * put.
 */
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/failure.h"
#include "base/json.h"
#include "base/sized.h"
#include "checkpoint/record.h"
#include "checkpoint/store.h"

static SIZED_KIND(options_put, yett_checkpoint_put_options, snapshot, snapshot);

/*
 * Reads the only row that the statement may return: an id or NULL. *ret_is_there: an id was
 * returned.
 */
static int read_id(const struct database *database, sqlite3_stmt *statement,
                   uint8_t ret_id[static UUID_SIZE], bool *ret_is_there, struct yett_error *error)
{
	int step = sqlite3_step(statement);

	if (step != SQLITE_ROW && step != SQLITE_DONE)
		return database_failed(database, error);
	*ret_is_there = step == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL;
	return *ret_is_there ? record_read_id(database, statement, ret_id, error) : 0;
}

static int find_parent(const struct database *database,
                       const struct yett_checkpoint_put_options *options,
                       uint8_t ret_id[static UUID_SIZE], bool *ret_is_there,
                       struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	uint8_t named[UUID_SIZE];
	int r = 0;

	if (options->parent)
		r = record_check_id("the parent", options->parent, named, error);
	if (r == 0)
		r = database_prepare_short(
			database,
			options->parent
				? "SELECT id FROM checkpoint WHERE id = ?1"
				: "SELECT id FROM checkpoint WHERE thread = ?1 ORDER BY id DESC LIMIT 1",
			&statement, error);
	if (r)
		return r;
	if (options->parent)
		(void)sqlite3_bind_blob(statement, 1, named, sizeof named, SQLITE_STATIC);
	else
		(void)sqlite3_bind_text(statement, 1, options->thread, -1, SQLITE_STATIC);
	r = read_id(database, statement, ret_id, ret_is_there, error);
	if (r == 0 && options->parent && !*ret_is_there)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                 "there is no checkpoint %s, which is to be the parent",
		                 options->parent);
	return r;
}

static int put_make_id(const struct database *database, uint8_t ret_id[static UUID_SIZE],
                       struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	uint8_t last[UUID_SIZE];
	bool is_there;
	int r = database_prepare_short(database, "SELECT max(id) FROM checkpoint", &statement,
	                               error);

	if (r == 0)
		r = read_id(database, statement, last, &is_there, error);
	if (r)
		return r;
	r = uuid_make(is_there ? last : NULL, ret_id);
	if (r == -ERANGE)
		return database_damaged(
			database, "the time of its last checkpoint is the end of time", error);
	if (r == 0)
		return 0;
	errno = -r;
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
	                   "there is no id to be had: %m");
}

/* `text` NULL binds SQL NULL. */
static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
	(void)sqlite3_bind_text(statement, at, text, -1, SQLITE_STATIC);
}

static int insert(const struct database *database,
                  const struct yett_checkpoint_put_options *options, const uint8_t *id,
                  const uint8_t *parent, struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	_cleanup_free_ char *tags = NULL;
	int r = database_prepare(
		database,
		"INSERT INTO checkpoint VALUES(?1, ?2, ?3, ?4, ?5, ?6, json(?7), ?8, ?9, ?10)",
		&statement, error);

	if (r)
		return r;
	if (record_join_tags(options->tags, &tags) < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for tags");
	(void)sqlite3_bind_blob(statement, 1, id, UUID_SIZE, SQLITE_STATIC);
	bind_text(statement, 2, options->thread);
	(void)sqlite3_bind_blob(statement, 3, parent, UUID_SIZE, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 4, options->step);
	bind_text(statement, 5, options->node);
	bind_text(statement, 6, tags);
	bind_text(statement, 7, options->custom);
	bind_text(statement, 8, options->sandbox);
	bind_text(statement, 9, options->snapshot);
	if (options->state_size)
		(void)sqlite3_bind_blob64(statement, 10, options->state, options->state_size,
		                          SQLITE_STATIC);
	else
		(void)sqlite3_bind_zeroblob(statement, 10, 0);
	return sqlite3_step(statement) == SQLITE_DONE ? 0 : database_failed(database, error);
}

/*
 * Runs a DELETE statement. Its parameter ?1 is `thread`, or `id` if `thread` is NULL; ?2 is
 * `number`. Adds the number of deleted rows to *count.
 */
static int put_remove_some(const struct yett_checkpoint_store *store, const char *sql,
                           const uint8_t *id, const char *thread, uint64_t number, uint64_t *count,
                           struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = database_prepare(&store->database, sql, &statement, error);

	if (r)
		return r;
	if (thread)
		bind_text(statement, 1, thread);
	else
		(void)sqlite3_bind_blob(statement, 1, id, UUID_SIZE, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 2, number > INT64_MAX ? INT64_MAX : (int64_t)number);
	if (sqlite3_step(statement) != SQLITE_DONE)
		return database_failed(&store->database, error);
	*count += (uint64_t)sqlite3_changes64(store->database.connection);
	return 0;
}

/* Bytes of the pages in use, including the changes of this transaction. */
static int bytes_in_use(const struct database *database, int64_t *ret_bytes,
                        struct yett_error *error)
{
	return database_number(
		database,
		"SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
		ret_bytes, error);
}

/*
 * Removes the oldest checkpoints, one at a time, until the store is small enough. Never removes
 * `id`.
 */
static int prune_to_size(const struct yett_checkpoint_store *store, const uint8_t *id,
                         uint64_t *count, struct yett_error *error)
{
	uint64_t went = 1;
	int64_t bytes = 0;
	int r = bytes_in_use(&store->database, &bytes, error);

	while (r == 0 && (uint64_t)bytes > store->bytes_max && went > 0) {
		went = 0;
		r = put_remove_some(
			store,
			"DELETE FROM checkpoint WHERE id = (SELECT min(id) FROM checkpoint WHERE id < ?1)",
			id, NULL, 0, &went, error);
		*count += went;
		if (r == 0)
			r = bytes_in_use(&store->database, &bytes, error);
	}
	if (r == 0 && (uint64_t)bytes > store->bytes_max)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			"with this checkpoint alone the store would have %lld bytes, and may have %llu",
			(long long)bytes, (unsigned long long)store->bytes_max);
	return r;
}

static int put_prune(const struct yett_checkpoint_store *store, const char *thread,
                     const uint8_t *id, uint64_t *count, struct yett_error *error)
{
	int r = 0;

	if (store->thread_max != YETT_CHECKPOINT_UNLIMITED)
		r = put_remove_some(
			store,
			"DELETE FROM checkpoint WHERE id IN "
			"(SELECT id FROM checkpoint WHERE thread = ?1 ORDER BY id DESC LIMIT -1 OFFSET ?2)",
			id, thread, store->thread_max, count, error);
	if (r == 0 && store->total_max != YETT_CHECKPOINT_UNLIMITED)
		r = put_remove_some(
			store,
			"DELETE FROM checkpoint WHERE id IN (SELECT id FROM checkpoint ORDER BY id DESC LIMIT -1 OFFSET ?2)",
			id, NULL, store->total_max, count, error);
	if (r == 0 && store->bytes_max != YETT_CHECKPOINT_UNLIMITED)
		r = prune_to_size(store, id, count, error);
	return r;
}

/* Reads the new checkpoint as the store has it. */
static int read_back(const struct database *database, const uint8_t *id,
                     struct yett_checkpoint **ret_checkpoint, struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = database_prepare_short(database,
	                               "SELECT " RECORD_COLUMNS " FROM checkpoint WHERE id = ?1",
	                               &statement, error);

	if (r)
		return r;
	(void)sqlite3_bind_blob(statement, 1, id, UUID_SIZE, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_ROW)
		return database_failed(database, error);
	return record_read(database, statement, ret_checkpoint, error);
}

static int put_put(const struct yett_checkpoint_store *store,
                   const struct yett_checkpoint_put_options *options,
                   struct yett_checkpoint **ret_checkpoint, uint64_t *count,
                   struct yett_error *error)
{
	uint8_t id[UUID_SIZE], parent[UUID_SIZE];
	bool has_parent = false;
	int r = store_sweep(store, count, error);

	if (r == 0)
		r = find_parent(&store->database, options, parent, &has_parent, error);
	if (r == 0)
		r = put_make_id(&store->database, id, error);
	if (r == 0)
		r = insert(&store->database, options, id, has_parent ? parent : NULL, error);
	if (r == 0)
		r = put_prune(store, options->thread, id, count, error);
	return r ? r : read_back(&store->database, id, ret_checkpoint, error);
}

static int check_custom(const struct database *database, const char *custom,
                        struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	size_t length = strnlen(custom, YETT_CHECKPOINT_CUSTOM_MAX + 1);
	uint32_t point;
	int r;

	if (length > YETT_CHECKPOINT_CUSTOM_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the JSON is longer than %d bytes", YETT_CHECKPOINT_CUSTOM_MAX);
	for (size_t at = 0, step; at < length; at += step) {
		step = json_utf8_next(custom + at, length - at, &point);
		if (step == 0)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NOT_UTF8,
			                 "the JSON is not UTF-8, at byte %zu", at);
	}
	r = database_prepare(
		database,
		"SELECT CASE WHEN json_valid(?1) THEN json_type(?1) = 'object' ELSE 0 END",
		&statement, error);
	if (r)
		return r;
	bind_text(statement, 1, custom);
	if (sqlite3_step(statement) != SQLITE_ROW)
		return database_failed(database, error);
	if (sqlite3_column_int(statement, 0))
		return 0;
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_MALFORMED,
	                 "'%s' is no JSON object, like {\"key\": \"value\"}", ESCAPE(custom));
}

int yett_checkpoint_put(struct yett_checkpoint_store *store,
                        const struct yett_checkpoint_put_options *options,
                        struct yett_checkpoint **ret_checkpoint, uint64_t *ret_pruned,
                        struct yett_error *error)
{
	_cleanup_(record_freep) struct yett_checkpoint *checkpoint = NULL;
	struct yett_checkpoint_put_options known;
	uint64_t count = 0;
	int r = sized_take(&options_put, options, &known, error);

	if (r == 0)
		r = record_check(&known, store->state_max, error);
	if (r == 0 && known.custom)
		r = check_custom(&store->database, known.custom, error);
	if (r == 0)
		r = database_begin(&store->database, error);
	if (r)
		return r;
	r = database_end(&store->database, put_put(store, &known, &checkpoint, &count, error),
	                 error);
	if (r)
		return r;
	if (ret_pruned)
		*ret_pruned = count;
	if (ret_checkpoint)
		*ret_checkpoint = steal_ptr(&checkpoint);
	return 0;
}
