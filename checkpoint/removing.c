/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes one checkpoint, a thread, or everything after a checkpoint. Runs with the caller's
 * privilege. Each function is one transaction. A trigger in the database gives children the parent
 * of a removed checkpoint (database.c).
 */
#include "base/escape.h"
#include "checkpoint/reading.h"

/* Runs a DELETE statement that uses the thread (?1), the id (?2), or both. Sets *ret_count. */
static int removing_remove_some(const struct database *database, const char *sql,
                                const char *thread, const uint8_t *id, uint64_t *ret_count,
                                struct yett_error *error)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int r = database_prepare(database, sql, &statement, error);

	if (r)
		return r;
	(void)sqlite3_bind_text(statement, 1, thread, -1, SQLITE_STATIC);
	(void)sqlite3_bind_blob(statement, 2, id, UUID_SIZE, SQLITE_STATIC);
	if (sqlite3_step(statement) != SQLITE_DONE)
		return database_failed(database, error);
	*ret_count = (uint64_t)sqlite3_changes64(database->connection);
	return 0;
}

int yett_checkpoint_delete(struct yett_checkpoint_store *store, const char *id,
                           struct yett_error *error)
{
	const struct database *database = &store->database;
	uint8_t bytes[UUID_SIZE];
	uint64_t count = 0;
	int r = record_check_id("the id", id, bytes, error);

	if (r == 0)
		r = database_begin(database, error);
	if (r)
		return r;
	r = removing_remove_some(database, "DELETE FROM checkpoint WHERE id = ?2", NULL, bytes,
	                         &count, error);
	if (r == 0 && count == 0)
		r = reading_not_found(bytes, error);
	return database_end(database, r, error);
}

int yett_checkpoint_delete_thread(struct yett_checkpoint_store *store, const char *thread,
                                  uint64_t *ret_removed, struct yett_error *error)
{
	const struct database *database = &store->database;
	uint64_t count = 0;
	int r = record_check_text("name of a thread", thread, YETT_CHECKPOINT_TEXT_MAX, error);

	if (r == 0)
		r = database_begin(database, error);
	if (r)
		return r;
	r = removing_remove_some(database, "DELETE FROM checkpoint WHERE thread = ?1", thread, NULL,
	                         &count, error);
	if (r == 0 && count == 0)
		r = error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		              "the thread '%s' has no checkpoint", ESCAPE(thread));
	r = database_end(database, r, error);
	if (r == 0 && ret_removed)
		*ret_removed = count;
	return r;
}

int yett_checkpoint_rollback(struct yett_checkpoint_store *store, const char *thread,
                             const char *id, struct yett_checkpoint **ret_checkpoint,
                             uint64_t *ret_removed, struct yett_error *error)
{
	_cleanup_(record_freep) struct yett_checkpoint *checkpoint = NULL;
	const struct database *database = &store->database;
	uint8_t bytes[UUID_SIZE];
	uint64_t count = 0;
	int r = record_check_text("name of a thread", thread, YETT_CHECKPOINT_TEXT_MAX, error);

	if (r == 0)
		r = record_check_id("the id", id, bytes, error);
	if (r == 0)
		r = database_begin(database, error);
	if (r)
		return r;
	r = reading_find(database, bytes, thread, &checkpoint, error);
	if (r == 0)
		r = removing_remove_some(database,
		                         "DELETE FROM checkpoint WHERE thread = ?1 AND id > ?2",
		                         thread, bytes, &count, error);
	r = database_end(database, r, error);
	if (r)
		return r;
	if (ret_removed)
		*ret_removed = count;
	if (ret_checkpoint)
		*ret_checkpoint = steal_ptr(&checkpoint);
	return 0;
}
