/*
 * The database of a store: opened, seen to be one of ours, and asked.
 *
 * With the caller's privilege, and by SQLite 3.40. What is in a file was written by this library,
 * or is taken for damaged: its tables are compared with those that are made here, and SQLite is
 * told to believe nothing that they say.
 */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

struct database_watch; /* how far the statement that goes on may go: database.c */

struct database {
	sqlite3 *connection;
	struct database_watch *watch;
	const char *path; /* for messages */
	uint32_t timeout_ms;
};

#define DATABASE_MEMORY ":memory:"

enum database_flag {
	DATABASE_LAZY = 1, /* synchronous=NORMAL: what is committed survives the end of a process at
	                      once, and a power cut later */
};

/*
 * Opens the file at `path`, which is there and may be empty, or DATABASE_MEMORY; makes the tables
 * where there are none. `path` is kept. Codes as for yett_checkpoint_store_open().
 */
_must_check_ int database_open(struct database *database, const char *path, uint32_t timeout_ms,
                               unsigned flags, struct yett_error *error);

/* Takes one that was not opened, too. */
void database_close(struct database *database);

/* What SQLite said last, as an error. */
int database_failed(const struct database *database, struct yett_error *error);

/* What is in the file cannot be. YETT_E_FILE_OPERATION_FAILED */
int database_damaged(const struct database *database, const char *why, struct yett_error *error);

/*
 * A statement, to be finalized with the cleanup below. It is ended, and the file taken for damaged,
 * where it goes on for longer than can be with so many bytes. A short one reads no text of more
 * than DATABASE_SHORT bytes, and no state.
 */
#define DATABASE_SHORT (128 << 10)
_must_check_ int database_prepare_short(const struct database *database, const char *sql,
                                        sqlite3_stmt **ret_statement, struct yett_error *error);
_must_check_ int database_prepare(const struct database *database, const char *sql,
                                  sqlite3_stmt **ret_statement, struct yett_error *error);

/* One that gives no row, or whose rows nobody wants. */
_must_check_ int database_run(const struct database *database, const char *sql,
                              struct yett_error *error);

/* The one number that a statement without parameters gives. */
_must_check_ int database_number(const struct database *database, const char *sql,
                                 int64_t *ret_number, struct yett_error *error);

/* A transaction that writes, and nobody else does meanwhile. */
_must_check_ int database_begin(const struct database *database, struct yett_error *error);

/* Its end: commits if `r` is 0, else undoes all of it. The code, or that of committing. */
_must_check_ int database_end(const struct database *database, int r, struct yett_error *error);

static inline void database_finalizep(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}

#define _cleanup_statement_ _cleanup_(database_finalizep)
