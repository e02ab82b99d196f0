/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts rows of the database into struct yett_checkpoint, and checks the values that callers
 * give. Runs with the caller's privilege.
 */
#pragma once

#include "checkpoint/database.h"
#include "checkpoint/uuid.h"
#include "checkpoint/yett-checkpoint.h"

/* The columns that record_read() reads, without and with the state. */
#define RECORD_COLUMNS                                                                                  \
	"id, thread, parent, step, node, tags, custom, sandbox, snapshot, coalesce(length(state), 0), " \
	"custom IS NULL OR json_valid(custom)"
#define RECORD_COLUMNS_WITH_STATE RECORD_COLUMNS ", state"

/*
 * Reads the current row of the statement. Free the result with yett_checkpoint_free(). Returns
 * database_damaged() for an impossible row.
 */
_must_check_ int record_read(const struct database *database, sqlite3_stmt *statement,
                             struct yett_checkpoint **ret_checkpoint, struct yett_error *error);

/*
 * Reads the id in the first column of the current row. Returns database_damaged() if it is no id.
 */
_must_check_ int record_read_id(const struct database *database, sqlite3_stmt *statement,
                                uint8_t ret_id[static UUID_SIZE], struct yett_error *error);

/*
 * Returns an empty list, to be freed with yett_checkpoint_list_free(), or NULL with `error` set if
 * there is no memory.
 */
struct yett_checkpoint_list *record_list_new(struct yett_error *error);

/*
 * Adds all rows of the statement to the list. Ids must descend, from the items that the list
 * already has on.
 */
_must_check_ int record_list_rows(const struct database *database, sqlite3_stmt *statement,
                                  struct yett_checkpoint_list *list, struct yett_error *error);

/*
 * Checks that a text has 1 to `max` bytes and is UTF-8 without control characters. `what` names it
 * in the message. Returns 0 or YETT_E_INVALID_REQUEST.
 */
_must_check_ int record_check_text(const char *what, const char *text, size_t max,
                                   struct yett_error *error);

/*
 * Parses an id that the caller gave as text. `what` names it in the message. Returns 0 or
 * YETT_E_INVALID_REQUEST.
 */
_must_check_ int record_check_id(const char *what, const char *text,
                                 uint8_t ret_id[static UUID_SIZE], struct yett_error *error);

/*
 * Checks all options of a put, except the parent and the JSON. Returns 0 or YETT_E_INVALID_REQUEST.
 */
_must_check_ int record_check(const struct yett_checkpoint_put_options *options, uint64_t state_max,
                              struct yett_error *error);

/*
 * Joins tags with newlines, as the store keeps them. *ret_text is NULL if there are no tags; else
 * the caller frees it. Returns 0 or -ENOMEM.
 */
_must_check_ int record_join_tags(const char *const *tags, char **ret_text);

static inline void record_list_freep(struct yett_checkpoint_list **list)
{
	yett_checkpoint_list_free(*list);
}

static inline void record_freep(struct yett_checkpoint **checkpoint)
{
	yett_checkpoint_free(*checkpoint);
}
