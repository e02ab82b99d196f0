/* SPDX-License-Identifier: Apache-2.0 */
/* See database.h. */
#include "checkpoint/database.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"

#define APPLICATION_ID 0x59744370 /* "YtCp": sqlite.org/fileformat.html, 1.3.15 */
#define SCHEMA         1          /* user_version of the file; increase it when the tables change */
#define TEXT_OF(x)     #x
#define TEXT(x)        TEXT_OF(x)

/*
 * The exact texts that SQLite keeps in sqlite_schema. The trigger gives the children of a deleted
 * checkpoint its parent. The state is the last column, so SQLite reads the other columns without
 * reading it.
 */
static const char *const tables[] = {
	"CREATE TABLE checkpoint(id BLOB NOT NULL PRIMARY KEY, thread TEXT NOT NULL, parent BLOB, step INTEGER NOT NULL, node TEXT, "
	"tags TEXT, custom TEXT, sandbox TEXT, snapshot TEXT, state BLOB NOT NULL) STRICT",
	"CREATE INDEX checkpoint_of_thread ON checkpoint(thread, id)",
	"CREATE INDEX checkpoint_of_parent ON checkpoint(parent)",
	"CREATE TRIGGER checkpoint_gone AFTER DELETE ON checkpoint "
	"BEGIN UPDATE checkpoint SET parent = OLD.parent WHERE parent = OLD.id; END",
};

/* The tables that ANALYZE makes: sqlite.org/fileformat2.html, 2.6.3 and 2.6.5. */
static const char *const statistics[] = {"CREATE TABLE sqlite_stat1(tbl,idx,stat)",
                                         "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"};

/*
 * In a crafted file, pages can refer to each other in a circle, so that a few pages yield endless
 * rows or texts of any length. So each statement gets a limited number of steps of SQLite's virtual
 * machine; SQLite calls look_at_watch() every STEPS of them. Opening a store takes a few hundred
 * steps. Listing or removing one checkpoint takes less than a hundred, and a checkpoint takes at
 * least a hundred bytes of the file; so a limit of one step per byte of the file suffices.
 */
#define STEPS          100
#define OPENING_STEPS  5000
#define FEWEST_STEPS   2000000
#define STEPS_FOR_BYTE 16
#define SECONDS_MAX    300 /* seconds of processor time for one statement */

/*
 * Limits for sqlite3_limit(): bytes of a text or a state, and of a statement, including those in
 * sqlite_schema. Parsing a statement takes memory of many times its length.
 */
#define LENGTH_MAX     (513 << 20)
#define SQL_LENGTH_MAX 4096

struct database_watch {
	uint64_t calls_left, end_ms;
	bool is_open;
};

/*
 * Settings that are not stored in the file, so each connection makes them. SQLite truncates the
 * write-ahead log to 16 MiB when it starts the log anew, sorts in memory, and overwrites deleted
 * content with zeros. cell_size_check makes SQLite check each page that it reads.
 * trusted_schema=OFF keeps the schema of a crafted file from calling SQL functions that can do
 * harm.
 */
static const char settings[] =
	"PRAGMA journal_size_limit=16777216; PRAGMA temp_store=MEMORY; PRAGMA secure_delete=ON; "
	"PRAGMA cell_size_check=ON; PRAGMA trusted_schema=OFF";

int database_damaged(const struct database *database, const char *why, struct yett_error *error)
{
	(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                "the store %s is damaged: %s", database->path, why);
	error_mend(
		error,
		"move it away with what is beside it; sqlite3 FILE .recover prints what can still be read");
	(void)error_cause(error, NULL, EUCLEAN);
	return YETT_E_FILE_OPERATION_FAILED;
}

static int locked(const struct database *database, struct yett_error *error)
{
	return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE,
	                 "others have kept the store %s locked for %u ms", database->path,
	                 database->timeout_ms);
}

static int no_store(const struct database *database, struct yett_error *error)
{
	return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                 "%s is no store of checkpoints, but another file", database->path);
}

/*
 * Reports that the disk is full, or another error. `number` is an errno, or 0 if SQLite has none.
 */
static int system_failed(const struct database *database, int number, struct yett_error *error)
{
	if (number == 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "the store %s cannot be used: %s", database->path,
		                 sqlite3_errmsg(database->connection));
	(void)error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                "the store %s cannot be used: %s", database->path, strerrordesc_np(number));
	if (number == ENOSPC || number == EDQUOT)
		error_mend(error, "make room on its file system: nothing of the store was lost");
	(void)error_cause(error, NULL, number);
	return YETT_E_FILE_OPERATION_FAILED;
}

int database_failed(const struct database *database, struct yett_error *error)
{
	sqlite3 *connection = database->connection;

	switch (sqlite3_errcode(connection) & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_PROTOCOL: /* while others recover the log */
		return locked(database, error);
	case SQLITE_NOTADB:
		return no_store(database, error);
	case SQLITE_INTERRUPT:
		return database_damaged(database, "reading it does not end", error);
	case SQLITE_CORRUPT:
		return database_damaged(database, sqlite3_errmsg(connection), error);
	case SQLITE_NOMEM:
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for checkpoints");
	case SQLITE_TOOBIG:
		return database_damaged(database, "a text or a state is longer than one can be",
		                        error);
	case SQLITE_FULL:
		return system_failed(database,
		                     sqlite3_system_errno(connection) == EDQUOT ? EDQUOT : ENOSPC,
		                     error);
	default:
		return system_failed(database, sqlite3_system_errno(connection), error);
	}
}

static uint64_t cpu_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Disk space, not st_size: a sparse file can claim any size. */
static uint64_t database_bytes_of(const char *path, const char *end)
{
	char name[PATH_MAX + sizeof "-wal"];
	struct stat st;

	(void)snprintf(name, sizeof name, "%s%s", path, end);
	return stat(name, &st) < 0 ? 0 : (uint64_t)st.st_blocks * 512;
}

static uint64_t most_steps(const struct database *database)
{
	if (strcmp(database->path, DATABASE_MEMORY) == 0)
		return UINT64_MAX;
	if (!database->watch->is_open)
		return OPENING_STEPS;
	return FEWEST_STEPS + STEPS_FOR_BYTE * (database_bytes_of(database->path, "") +
	                                        database_bytes_of(database->path, "-wal"));
}

/* Resets the limits for the statement that begins now. */
static void checkpoint_database_watch(const struct database *database, int length_max)
{
	database->watch->calls_left = most_steps(database) / STEPS;
	database->watch->end_ms = cpu_ms() + SECONDS_MAX * 1000;
	(void)sqlite3_limit(database->connection, SQLITE_LIMIT_LENGTH, length_max);
}

/* SQLite's progress handler: returns nonzero to interrupt the statement. */
static int look_at_watch(void *data)
{
	struct database_watch *left = data;

	return left->calls_left-- == 0 || cpu_ms() > left->end_ms;
}

static int prepare_statement(const struct database *database, const char *sql, int length_max,
                             sqlite3_stmt **ret_statement, struct yett_error *error)
{
	checkpoint_database_watch(database, length_max);
	if (sqlite3_prepare_v2(database->connection, sql, -1, ret_statement, NULL) != SQLITE_OK)
		return database_failed(database, error);
	return 0;
}

int database_prepare(const struct database *database, const char *sql, sqlite3_stmt **ret_statement,
                     struct yett_error *error)
{
	return prepare_statement(database, sql, LENGTH_MAX, ret_statement, error);
}

int database_prepare_short(const struct database *database, const char *sql,
                           sqlite3_stmt **ret_statement, struct yett_error *error)
{
	return prepare_statement(database, sql, DATABASE_SHORT, ret_statement, error);
}

int database_run(const struct database *database, const char *sql, struct yett_error *error)
{
	checkpoint_database_watch(database, LENGTH_MAX);
	if (sqlite3_exec(database->connection, sql, NULL, NULL, NULL) != SQLITE_OK)
		return database_failed(database, error);
	return 0;
}

int database_number(const struct database *database, const char *sql, int64_t *ret_number,
                    struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = database_prepare(database, sql, &statement, error);

	if (r)
		return r;
	if (sqlite3_step(statement) != SQLITE_ROW)
		return database_failed(database, error);
	*ret_number = sqlite3_column_int64(statement, 0);
	return 0;
}

int database_begin(const struct database *database, struct yett_error *error)
{
	return database_run(database, "BEGIN IMMEDIATE", error);
}

int database_end(const struct database *database, int r, struct yett_error *error)
{
	if (r == 0)
		r = database_run(database, "COMMIT", error);
	/* In autocommit mode there is no transaction: SQLite has rolled back already. */
	if (r && !sqlite3_get_autocommit(database->connection))
		(void)sqlite3_exec(database->connection, "ROLLBACK", NULL, NULL, NULL);
	return r;
}

/*
 * Reads the identification of the file. *ret_is_new: nothing was ever written to the database, so
 * it has no tables, and application_id and user_version are 0. Runs within a transaction.
 */
static int database_look(const struct database *database, int64_t *ret_id, int64_t *ret_schema,
                         bool *ret_is_new, struct yett_error *error)
{
	int64_t count = 0;
	int r = database_number(database, "SELECT EXISTS(SELECT 1 FROM sqlite_schema)", &count,
	                        error);

	if (r == 0)
		r = database_number(database, "PRAGMA application_id", ret_id, error);
	if (r == 0)
		r = database_number(database, "PRAGMA user_version", ret_schema, error);
	*ret_is_new = r == 0 && count == 0 && *ret_id == 0 && *ret_schema == 0;
	return r;
}

static bool is_statistics(const char *text)
{
	for (size_t i = 0; i < ARRAY_SIZE(statistics); i++)
		if (strcmp(text, statistics[i]) == 0)
			return true;
	return false;
}

/*
 * Checks that the tables are those that this version makes. The tables of ANALYZE and SQLite's own
 * indexes (which have no text) may be there as well.
 */
static int check_tables(const struct database *database, struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = database_prepare(
		database, "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid",
		&statement, error);
	size_t i = 0;

	if (r)
		return r;
	while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(statement, 0);

		if (text && is_statistics(text))
			continue;
		if (i == ARRAY_SIZE(tables) || !text || strcmp(text, tables[i++]) != 0)
			return database_damaged(database, "its tables are not those of a store",
			                        error);
	}
	if (r != SQLITE_DONE)
		return database_failed(database, error);
	return i == ARRAY_SIZE(tables) ? 0
	                               : database_damaged(database, "a table is missing", error);
}

static int make_tables(const struct database *database, struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(tables); i++)
		r = database_run(database, tables[i], error);
	if (r == 0)
		r = database_run(database,
		                 "PRAGMA application_id=" TEXT(
					 APPLICATION_ID) "; PRAGMA user_version=" TEXT(SCHEMA),
		                 error);
	return r;
}

/*
 * Makes the tables. Checks again inside a write transaction, because several processes may open a
 * new file at once and only one of them may make the tables.
 */
static int database_make(const struct database *database, struct yett_error *error)
{
	int64_t id, schema;
	bool is_new;
	int r = database_begin(database, error);

	if (r)
		return r;
	r = database_look(database, &id, &schema, &is_new, error);
	if (r == 0 && is_new)
		r = make_tables(database, error);
	return database_end(database, r, error);
}

/*
 * With a write-ahead log, others can read while one process writes. The log's index is in memory
 * that the processes share.
 */
static int use_log(const struct database *database, unsigned flags, struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	const char *mode;
	int r = database_prepare(database, "PRAGMA journal_mode=WAL", &statement, error);

	if (r)
		return r;
	if (sqlite3_step(statement) != SQLITE_ROW)
		return database_failed(database, error);
	mode = (const char *)sqlite3_column_text(statement, 0);
	if (!mode || strcmp(mode, "wal") != 0)
		return error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"the file system of the store %s has no memory that processes share: keep it on a local one",
			database->path);
	return database_run(database,
	                    flags & DATABASE_LAZY ? "PRAGMA synchronous=NORMAL"
	                                          : "PRAGMA synchronous=FULL",
	                    error);
}

/* Changes nothing in a file before it is known to be a store or empty. */
static int checkpoint_database_prepare(const struct database *database, unsigned flags,
                                       struct yett_error *error)
{
	bool is_file = strcmp(database->path, DATABASE_MEMORY) != 0, is_new;
	int64_t id = 0, schema = 0;
	int r = database_run(database, settings, error);

	if (r == 0)
		r = database_run(database, "BEGIN", error);
	if (r)
		return r;
	r = database_end(database, database_look(database, &id, &schema, &is_new, error), error);
	if (r)
		return r;
	if (!is_new && id != APPLICATION_ID)
		return no_store(database, error);
	if (!is_new && schema > SCHEMA)
		return error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"the store %s was made by a later version: it has the schema %lld, and this library (%s) knows %d",
			database->path, (long long)schema, YETT_VERSION, SCHEMA);
	if (is_file)
		r = use_log(database, flags, error);
	if (r == 0 && is_new)
		r = database_make(database, error);
	return r ? r : check_tables(database, error);
}

/*
 * Two processes that switch to the write-ahead log at once can get SQLITE_BUSY without the busy
 * timeout: sqlite.org/wal.html, 9. So try again until the timeout.
 */
static int prepare_until(const struct database *database, unsigned flags, struct yett_error *error)
{
	uint64_t end = clock_now_ms() + database->timeout_ms;
	int r;

	while ((r = checkpoint_database_prepare(database, flags, error)) == YETT_E_TIMEOUT &&
	       clock_now_ms() < end)
		(void)sqlite3_sleep(5);
	return r;
}

/*
 * A journal beside a database can name a super-journal, and SQLite deletes the file of that name
 * once it has rolled back. An attacker who can write beside a store could thus have any of the
 * user's files deleted. Stores are never attached to each other, so they have no super-journals,
 * and this VFS refuses to open one. See sqlite.org/atomiccommit.html, 5.
 */
#define VFS_NAME "yett-checkpoint"
static const sqlite3_vfs *vfs_plain;
static sqlite3_vfs vfs_guarded;

static int vfs_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags,
                    int *ret_flags)
{
	(void)vfs;
	if (!(flags & SQLITE_OPEN_SUPER_JOURNAL))
		return vfs_plain->xOpen((sqlite3_vfs *)(uintptr_t)vfs_plain, name, file, flags,
		                        ret_flags);
	file->pMethods = NULL; /* tells SQLite not to call xClose */
	return SQLITE_CANTOPEN;
}

static void vfs_register(void)
{
	vfs_plain = sqlite3_vfs_find(NULL);
	if (!vfs_plain)
		return;
	vfs_guarded = *vfs_plain;
	vfs_guarded.zName = VFS_NAME;
	vfs_guarded.pNext = NULL;
	vfs_guarded.xOpen = vfs_open;
	/* If this fails, sqlite3_open_v2() does not find VFS_NAME and fails. */
	(void)sqlite3_vfs_register(&vfs_guarded, 0);
}

int database_open(struct database *database, const char *path, uint32_t timeout_ms, unsigned flags,
                  struct yett_error *error)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW |
	          SQLITE_OPEN_EXRESCODE,
	    r;

	(void)pthread_once(&once, vfs_register);
	*database = (struct database){.path = path,
	                              .timeout_ms = timeout_ms,
	                              .watch = calloc(1, sizeof *database->watch)};
	if (!database->watch)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory to open %s", path);
	r = sqlite3_open_v2(path, &database->connection, how, VFS_NAME);
	if (!database->connection)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory to open %s", path);
	if (r != SQLITE_OK)
		return database_failed(database, error);
	(void)sqlite3_busy_timeout(database->connection, (int)timeout_ms);
	(void)sqlite3_db_config(database->connection, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	(void)sqlite3_limit(database->connection, SQLITE_LIMIT_SQL_LENGTH, SQL_LENGTH_MAX);
	sqlite3_progress_handler(database->connection, STEPS, look_at_watch, database->watch);
	r = prepare_until(database, flags, error);
	database->watch->is_open = true;
	return r;
}

void database_close(struct database *database)
{
	/* Closing the last connection to a file also copies the log into it. */
	(void)sqlite3_close(database->connection);
	database->connection = NULL;
	free(database->watch);
	database->watch = NULL;
}
