/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQLite database of a store: opening it, checking that this library made it, and running
 * statements. Runs with the caller's privilege and needs SQLite 3.40.
 *
 * The content of a file is either what this library wrote, or it counts as damaged. The tables are
 * compared with those that this library makes, and SQLite is told not to trust the schema.
 */
#pragma once

#include <sqlite3.h>

#include "base/error.h"

struct database_watch; /* Limits of the statement that runs now: see database.c. */

struct database {
	sqlite3 *connection;
	struct database_watch *watch;
	const char *path; /* for messages */
	uint32_t timeout_ms;
};

#define DATABASE_MEMORY ":memory:"

enum database_flag {
	/*
	 * synchronous=NORMAL: a commit survives the end of the process at once, and a power cut
	 * only later
	 */
	DATABASE_LAZY = 1,
};

/*
 * Opens the file at `path`, or DATABASE_MEMORY, and makes the tables if there are none. The file
 * must exist and may be empty. The struct borrows `path` until database_close(). Returns 0 or the
 * codes of yett_checkpoint_store_open().
 */
_must_check_ int database_open(struct database *database, const char *path, uint32_t timeout_ms,
                               unsigned flags, struct yett_error *error);

/* Also accepts a database that database_open() failed to open. */
void database_close(struct database *database);

/* Converts the last error of SQLite into `error`. Returns its code. */
int database_failed(const struct database *database, struct yett_error *error);

/* Fills in `error` for a file whose content is impossible. Returns YETT_E_FILE_OPERATION_FAILED. */
int database_damaged(const struct database *database, const char *why, struct yett_error *error);

/*
 * Prepares a statement; release it with _cleanup_statement_. A statement that takes more steps than
 * a file of this size can need is interrupted, and the file counts as damaged.
 * database_prepare_short() is for statements that read no state: SQLite refuses any value longer
 * than DATABASE_SHORT bytes in them.
 */
#define DATABASE_SHORT (128 << 10)
_must_check_ int database_prepare_short(const struct database *database, const char *sql,
                                        sqlite3_stmt **ret_statement, struct yett_error *error);
_must_check_ int database_prepare(const struct database *database, const char *sql,
                                  sqlite3_stmt **ret_statement, struct yett_error *error);

/* Runs statements and discards their rows. */
_must_check_ int database_run(const struct database *database, const char *sql,
                              struct yett_error *error);

/* Runs a statement that has no parameters and returns one number. */
_must_check_ int database_number(const struct database *database, const char *sql,
                                 int64_t *ret_number, struct yett_error *error);

/* Begins a transaction that holds the write lock, so no other connection writes until it ends. */
_must_check_ int database_begin(const struct database *database, struct yett_error *error);

/*
 * Ends the transaction: commits if `r` is 0, else rolls back. Returns `r`, or the code of a failed
 * commit.
 */
_must_check_ int database_end(const struct database *database, int r, struct yett_error *error);

static inline void database_finalizep(sqlite3_stmt **statement)
{
	(void)sqlite3_finalize(*statement);
}

#define _cleanup_statement_ _cleanup_(database_finalizep)
