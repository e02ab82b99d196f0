/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a store: one checkpoint, lists, the history of one. Runs with the caller's privilege. Each
 * function is one statement or one transaction, so its result is the store at one moment.
 */
#include "checkpoint/reading.h"

#include <string.h>

#include "base/escape.h"
#include "base/sized.h"

#define LIMIT 100

static SIZED_KIND(options_list, yett_checkpoint_list_options, limit, limit);

int reading_not_found(const uint8_t id[static UUID_SIZE], struct yett_error *error)
{
	char text[YETT_CHECKPOINT_ID_SIZE];

	uuid_print(id, text);
	return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE, "there is no checkpoint %s", text);
}

/* Reads the only row that the statement may return. *ret_checkpoint is NULL if there is none. */
static int reading_read_one(const struct database *database, sqlite3_stmt *statement,
                            struct yett_checkpoint **ret_checkpoint, struct yett_error *error)
{
	int step = sqlite3_step(statement);

	*ret_checkpoint = NULL;
	if (step == SQLITE_ROW)
		return record_read(database, statement, ret_checkpoint, error);
	return step == SQLITE_DONE ? 0 : database_failed(database, error);
}

/*
 * Reads the row without the state first. That statement has a short length limit, so that a damaged
 * text column cannot make SQLite read as much as a state may have.
 */
static int find_whole(const struct database *database, const uint8_t id[static UUID_SIZE],
                      struct yett_checkpoint **ret_checkpoint, struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL, *with_state = NULL;
	_cleanup_(record_freep) struct yett_checkpoint *checkpoint = NULL;
	int r = database_prepare_short(database,
	                               "SELECT " RECORD_COLUMNS " FROM checkpoint WHERE id = ?1",
	                               &statement, error);

	if (r)
		return r;
	(void)sqlite3_bind_blob(statement, 1, id, UUID_SIZE, SQLITE_STATIC);
	r = reading_read_one(database, statement, &checkpoint, error);
	if (r == 0 && !checkpoint)
		return reading_not_found(id, error);
	if (r == 0)
		r = database_prepare(database,
		                     "SELECT " RECORD_COLUMNS_WITH_STATE
		                     " FROM checkpoint WHERE id = ?1",
		                     &with_state, error);
	if (r)
		return r;
	(void)sqlite3_bind_blob(with_state, 1, id, UUID_SIZE, SQLITE_STATIC);
	r = reading_read_one(database, with_state, ret_checkpoint, error);
	return r || *ret_checkpoint ? r : reading_not_found(id, error);
}

int reading_find(const struct database *database, const uint8_t id[static UUID_SIZE],
                 const char *thread, struct yett_checkpoint **ret_checkpoint,
                 struct yett_error *error)
{
	_cleanup_(record_freep) struct yett_checkpoint *checkpoint = NULL;
	int r = find_whole(database, id, &checkpoint, error);

	if (r)
		return r;
	if (thread && strcmp(checkpoint->thread, thread) != 0)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                 "checkpoint %s is not of the thread '%s', but of '%s'",
		                 checkpoint->id, ESCAPE(thread), ESCAPE(checkpoint->thread));
	*ret_checkpoint = steal_ptr(&checkpoint);
	return 0;
}

int yett_checkpoint_get(struct yett_checkpoint_store *store, const char *id,
                        struct yett_checkpoint **ret_checkpoint, struct yett_error *error)
{
	_cleanup_(record_freep) struct yett_checkpoint *checkpoint = NULL;
	uint8_t bytes[UUID_SIZE];
	int r = record_check_id("the id", id, bytes, error);

	if (r == 0)
		r = database_run(&store->database, "BEGIN", error);
	if (r == 0)
		r = database_end(&store->database,
		                 reading_find(&store->database, bytes, NULL, &checkpoint, error),
		                 error);
	if (r == 0)
		*ret_checkpoint = steal_ptr(&checkpoint);
	return r;
}

static int find_latest(const struct database *database, const char *thread,
                       struct yett_checkpoint **ret_checkpoint, struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	uint8_t id[UUID_SIZE];
	int step, r = database_prepare_short(
			  database,
			  "SELECT id FROM checkpoint WHERE thread = ?1 ORDER BY id DESC LIMIT 1",
			  &statement, error);

	if (r)
		return r;
	(void)sqlite3_bind_text(statement, 1, thread, -1, SQLITE_STATIC);
	step = sqlite3_step(statement);
	if (step == SQLITE_DONE)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                 "the thread '%s' has no checkpoint", ESCAPE(thread));
	r = step == SQLITE_ROW ? record_read_id(database, statement, id, error)
	                       : database_failed(database, error);
	return r ? r : find_whole(database, id, ret_checkpoint, error);
}

int yett_checkpoint_latest(struct yett_checkpoint_store *store, const char *thread,
                           struct yett_checkpoint **ret_checkpoint, struct yett_error *error)
{
	_cleanup_(record_freep) struct yett_checkpoint *checkpoint = NULL;
	int r = record_check_text("name of a thread", thread, YETT_CHECKPOINT_TEXT_MAX, error);

	if (r == 0)
		r = database_run(&store->database, "BEGIN", error);
	if (r == 0)
		r = database_end(&store->database,
		                 find_latest(&store->database, thread, &checkpoint, error), error);
	if (r == 0)
		*ret_checkpoint = steal_ptr(&checkpoint);
	return r;
}

/*
 * Binds an id that bounds a list. `text` NULL: binds `bound` as the caller initialized it, which is
 * before or after all ids.
 */
static int bind_bound(sqlite3_stmt *statement, int at, const char *what, const char *text,
                      uint8_t bound[static UUID_SIZE], struct yett_error *error)
{
	int r = text ? record_check_id(what, text, bound, error) : 0;

	if (r == 0)
		(void)sqlite3_bind_blob(statement, at, bound, UUID_SIZE, SQLITE_STATIC);
	return r;
}

static int reading_check_list(const struct yett_checkpoint_list_options *options,
                              struct yett_error *error)
{
	int r = 0;

	if (options->thread)
		r = record_check_text("name of a thread", options->thread, YETT_CHECKPOINT_TEXT_MAX,
		                      error);
	if (r == 0 && options->tag)
		r = record_check_text("tag", options->tag, YETT_CHECKPOINT_TAG_MAX, error);
	return r;
}

/* Two statements, so that each can use an index for its order. */
static const char *sql_of(const struct yett_checkpoint_list_options *options)
{
#define SQL_OF(thread)                                                                                             \
	"SELECT " RECORD_COLUMNS " FROM checkpoint WHERE " thread                                                  \
	" id < ?2 AND id > ?3 AND (?4 IS NULL OR instr(char(10) || tags || char(10), char(10) || ?4 || char(10)))" \
	" ORDER BY id DESC LIMIT ?5"
	return options->thread ? SQL_OF("thread = ?1 AND") : SQL_OF("");
#undef SQL_OF
}

int yett_checkpoints_list(struct yett_checkpoint_store *store,
                          const struct yett_checkpoint_list_options *options,
                          struct yett_checkpoint_list **ret_list, struct yett_error *error)
{
	_cleanup_(record_list_freep) struct yett_checkpoint_list *list = NULL;
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	struct yett_checkpoint_list_options known;
	uint8_t before[UUID_SIZE], after[UUID_SIZE] = {0};
	int r = sized_take(&options_list, options, &known, error);

	memset(before, 0xff, sizeof before);
	if (r == 0)
		r = reading_check_list(&known, error);
	if (r == 0)
		r = database_prepare_short(&store->database, sql_of(&known), &statement, error);
	if (r == 0)
		r = bind_bound(statement, 2, "the bound", known.before, before, error);
	if (r == 0)
		r = bind_bound(statement, 3, "the bound", known.after, after, error);
	if (r)
		return r;
	(void)sqlite3_bind_text(statement, 1, known.thread, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(statement, 4, known.tag, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 5,
	                         known.limit == 0          ? LIMIT
	                         : known.limit > INT64_MAX ? INT64_MAX
	                                                   : (int64_t)known.limit);
	list = record_list_new(error);
	r = list ? record_list_rows(&store->database, statement, list, error)
	         : YETT_E_OUT_OF_MEMORY;
	if (r == 0)
		*ret_list = steal_ptr(&list);
	return r;
}

/*
 * Collects the ids of a checkpoint and its ancestors, newest first. Reads only the ids: in a
 * crafted file, a few pages could yield the other columns for any number of rows. A parent's id is
 * always smaller than its child's; the condition `id < at` stops circles in a crafted file.
 */
static int find_line(const struct database *database, const uint8_t id[static UUID_SIZE],
                     uint8_t **ret_ids, size_t *ret_count, struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	_cleanup_free_ uint8_t *ids = NULL;
	size_t count = 0, room = 0;
	int step,
		r = database_prepare_short(
			database,
			"WITH RECURSIVE line(at, above) AS (SELECT id, parent FROM checkpoint WHERE id = ?1 UNION "
			"SELECT id, parent FROM line JOIN checkpoint ON id = above AND id < at) "
			"SELECT at FROM line ORDER BY at DESC",
			&statement, error);

	if (r)
		return r;
	(void)sqlite3_bind_blob(statement, 1, id, UUID_SIZE, SQLITE_STATIC);
	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		uint8_t *more = count < room
		                        ? ids
		                        : reallocarray(ids, room = room ? room * 2 : 64, UUID_SIZE);

		if (!more)
			return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                 "there is not enough memory for a list of checkpoints");
		ids = more;
		r = record_read_id(database, statement, ids + count++ * UUID_SIZE, error);
		if (r)
			return r;
	}
	if (step != SQLITE_DONE)
		return database_failed(database, error);
	*ret_ids = steal_ptr(&ids);
	*ret_count = count;
	return count ? 0 : reading_not_found(id, error);
}

static int reading_read_line(const struct database *database, const uint8_t id[static UUID_SIZE],
                             struct yett_checkpoint_list *list, struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	_cleanup_free_ uint8_t *ids = NULL;
	size_t count = 0;
	int r = find_line(database, id, &ids, &count, error);

	if (r == 0)
		r = database_prepare_short(
			database, "SELECT " RECORD_COLUMNS " FROM checkpoint WHERE id = ?1",
			&statement, error);
	for (size_t i = 0; r == 0 && i < count; i++) {
		(void)sqlite3_bind_blob(statement, 1, ids + i * UUID_SIZE, UUID_SIZE,
		                        SQLITE_STATIC);
		r = record_list_rows(database, statement, list, error);
		(void)sqlite3_reset(statement);
	}
	return r;
}

int yett_checkpoint_history(struct yett_checkpoint_store *store, const char *id,
                            struct yett_checkpoint_list **ret_list, struct yett_error *error)
{
	_cleanup_(record_list_freep) struct yett_checkpoint_list *list = NULL;
	uint8_t bytes[UUID_SIZE];
	int r = record_check_id("the id", id, bytes, error);

	if (r)
		return r;
	list = record_list_new(error);
	r = list ? database_run(&store->database, "BEGIN", error) : YETT_E_OUT_OF_MEMORY;
	if (r == 0)
		r = database_end(&store->database,
		                 reading_read_line(&store->database, bytes, list, error), error);
	if (r == 0)
		*ret_list = steal_ptr(&list);
	return r;
}

void yett_checkpoint_time_id(uint64_t time_ms, char ret_id[YETT_CHECKPOINT_ID_SIZE])
{
	uint8_t id[UUID_SIZE];

	uuid_of_time(time_ms, id);
	uuid_print(id, ret_id);
}
