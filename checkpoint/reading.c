/*
 * What is in a store: one checkpoint, lists, the history of one.
 *
 * With the caller's privilege. Each is one statement, and so what the store was at one moment.
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

/* The one row that a statement may give; NULL where it does not. */
static int read_one(const struct database *database, sqlite3_stmt *statement, struct yett_checkpoint **ret_checkpoint,
                    struct yett_error *error)
{
	int step = sqlite3_step(statement);

	*ret_checkpoint = NULL;
	if (step == SQLITE_ROW)
		return record_read(database, statement, ret_checkpoint, error);
	return step == SQLITE_DONE ? 0 : database_failed(database, error);
}

int reading_find(const struct database *database, const uint8_t id[static UUID_SIZE], const char *thread,
                 struct yett_checkpoint **ret_checkpoint, struct yett_error *error)
{
	_cleanup_(record_freep) struct yett_checkpoint *checkpoint = NULL;
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = database_prepare(database, "SELECT " RECORD_COLUMNS_WITH_STATE " FROM checkpoint WHERE id = ?1", &statement, error);

	if (r)
		return r;
	(void)sqlite3_bind_blob(statement, 1, id, UUID_SIZE, SQLITE_STATIC);
	r = read_one(database, statement, &checkpoint, error);
	if (r)
		return r;
	if (!checkpoint)
		return reading_not_found(id, error);
	if (thread && strcmp(checkpoint->thread, thread) != 0)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE, "checkpoint %s is not of the thread '%s', but of '%s'",
		                 checkpoint->id, ESCAPE(thread), ESCAPE(checkpoint->thread));
	*ret_checkpoint = steal_ptr(&checkpoint);
	return 0;
}

int yett_checkpoint_get(struct yett_checkpoint_store *store, const char *id, struct yett_checkpoint **ret_checkpoint,
                        struct yett_error *error)
{
	uint8_t bytes[UUID_SIZE];
	int r = record_check_id("the id", id, bytes, error);

	return r ? r : reading_find(&store->database, bytes, NULL, ret_checkpoint, error);
}

int yett_checkpoint_latest(struct yett_checkpoint_store *store, const char *thread, struct yett_checkpoint **ret_checkpoint,
                           struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	struct yett_checkpoint *checkpoint;
	int r = record_check_text("name of a thread", thread, YETT_CHECKPOINT_TEXT_MAX, error);

	if (r == 0)
		r = database_prepare(&store->database,
		                     "SELECT " RECORD_COLUMNS_WITH_STATE " FROM checkpoint WHERE thread = ?1 ORDER BY id DESC LIMIT 1",
		                     &statement, error);
	if (r)
		return r;
	(void)sqlite3_bind_text(statement, 1, thread, -1, SQLITE_STATIC);
	r = read_one(&store->database, statement, &checkpoint, error);
	if (r == 0 && !checkpoint)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE, "the thread '%s' has no checkpoint", ESCAPE(thread));
	if (r == 0)
		*ret_checkpoint = checkpoint;
	return r;
}

/* Of an id that bounds a list, or of none: then what comes before or behind all. */
static int bind_bound(sqlite3_stmt *statement, int at, const char *what, const char *text, uint8_t bound[static UUID_SIZE],
                      struct yett_error *error)
{
	int r = text ? record_check_id(what, text, bound, error) : 0;

	if (r == 0)
		(void)sqlite3_bind_blob(statement, at, bound, UUID_SIZE, SQLITE_STATIC);
	return r;
}

static int check_list(const struct yett_checkpoint_list_options *options, struct yett_error *error)
{
	int r = 0;

	if (options->thread)
		r = record_check_text("name of a thread", options->thread, YETT_CHECKPOINT_TEXT_MAX, error);
	if (r == 0 && options->tag)
		r = record_check_text("tag", options->tag, YETT_CHECKPOINT_TAG_MAX, error);
	return r;
}

/* Two statements, so that each has an index for its order. */
static const char *sql_of(const struct yett_checkpoint_list_options *options)
{
#define SQL_OF(thread)                                                                                             \
	"SELECT " RECORD_COLUMNS " FROM checkpoint WHERE " thread                                                  \
	" id < ?2 AND id > ?3 AND (?4 IS NULL OR instr(char(10) || tags || char(10), char(10) || ?4 || char(10)))" \
	" ORDER BY id DESC LIMIT ?5"
	return options->thread ? SQL_OF("thread = ?1 AND") : SQL_OF("");
#undef SQL_OF
}

int yett_checkpoints_list(struct yett_checkpoint_store *store, const struct yett_checkpoint_list_options *options,
                          struct yett_checkpoint_list **ret_list, struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	struct yett_checkpoint_list_options known;
	uint8_t before[UUID_SIZE], after[UUID_SIZE] = {0};
	int r = sized_take(&options_list, options, &known, error);

	memset(before, 0xff, sizeof before);
	if (r == 0)
		r = check_list(&known, error);
	if (r == 0)
		r = database_prepare(&store->database, sql_of(&known), &statement, error);
	if (r == 0)
		r = bind_bound(statement, 2, "the bound", known.before, before, error);
	if (r == 0)
		r = bind_bound(statement, 3, "the bound", known.after, after, error);
	if (r)
		return r;
	(void)sqlite3_bind_text(statement, 1, known.thread, -1, SQLITE_STATIC);
	(void)sqlite3_bind_text(statement, 4, known.tag, -1, SQLITE_STATIC);
	(void)sqlite3_bind_int64(statement, 5, known.limit == 0 ? LIMIT : known.limit > INT64_MAX ? INT64_MAX : (int64_t)known.limit);
	return record_read_all(&store->database, statement, ret_list, error);
}

/* A parent was put before its children: in a file that somebody has changed there may be circles. */
int yett_checkpoint_history(struct yett_checkpoint_store *store, const char *id, struct yett_checkpoint_list **ret_list,
                            struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	struct yett_checkpoint_list *list;
	uint8_t bytes[UUID_SIZE];
	int r = record_check_id("the id", id, bytes, error);

	if (r == 0)
		r = database_prepare(&store->database,
		                     "WITH RECURSIVE line(at, above) AS (SELECT id, parent FROM checkpoint WHERE id = ?1 UNION "
		                     "SELECT id, parent FROM line JOIN checkpoint ON id = above AND id < at) "
		                     "SELECT " RECORD_COLUMNS " FROM line JOIN checkpoint ON id = at ORDER BY id DESC",
		                     &statement, error);
	if (r)
		return r;
	(void)sqlite3_bind_blob(statement, 1, bytes, sizeof bytes, SQLITE_STATIC);
	r = record_read_all(&store->database, statement, &list, error);
	if (r)
		return r;
	if (yett_checkpoint_list_count(list) == 0) {
		yett_checkpoint_list_free(list);
		return reading_not_found(bytes, error);
	}
	*ret_list = list;
	return 0;
}

void yett_checkpoint_time_id(uint64_t time_ms, char ret_id[YETT_CHECKPOINT_ID_SIZE])
{
	uint8_t id[UUID_SIZE];

	uuid_of_time(time_ms, id);
	uuid_print(id, ret_id);
}
