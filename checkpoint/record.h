/*
 * Rows of the database as what programs get, and what programs give as values of a row.
 *
 * With the caller's privilege.
 */
#pragma once

#include "checkpoint/database.h"
#include "checkpoint/uuid.h"
#include "checkpoint/yett-checkpoint.h"

/* The columns that record_read() reads, without the state and with it. */
#define RECORD_COLUMNS                                                                                  \
	"id, thread, parent, step, node, tags, custom, sandbox, snapshot, coalesce(length(state), 0), " \
	"custom IS NULL OR json_valid(custom)"
#define RECORD_COLUMNS_WITH_STATE RECORD_COLUMNS ", state"

/* The row at which the statement is. To be freed with yett_checkpoint_free(). What cannot be is
 * database_damaged(). */
_must_check_ int record_read(const struct database *database, sqlite3_stmt *statement,
                             struct yett_checkpoint **ret_checkpoint, struct yett_error *error);

/* The id that the row at which the statement is begins with. What cannot be is database_damaged().
 */
_must_check_ int record_read_id(const struct database *database, sqlite3_stmt *statement,
                                uint8_t ret_id[static UUID_SIZE], struct yett_error *error);

/* An empty list, to be freed with yett_checkpoint_list_free(). NULL: no memory, with the error. */
struct yett_checkpoint_list *record_list_new(struct yett_error *error);

/* Adds all rows that the statement gives, which have to come behind those that are there: the
 * highest id first. */
_must_check_ int record_list_rows(const struct database *database, sqlite3_stmt *statement,
                                  struct yett_checkpoint_list *list, struct yett_error *error);

/* Whether a text of 1 … `max` bytes is UTF-8 without control characters. `what` is for the message.
 * YETT_E_INVALID_REQUEST */
_must_check_ int record_check_text(const char *what, const char *text, size_t max,
                                   struct yett_error *error);

/* An id that a program gives, as text; `what` is for the message. YETT_E_INVALID_REQUEST */
_must_check_ int record_check_id(const char *what, const char *text,
                                 uint8_t ret_id[static UUID_SIZE], struct yett_error *error);

/* All that is given to be put, but for the parent and the JSON. YETT_E_INVALID_REQUEST */
_must_check_ int record_check(const struct yett_checkpoint_put_options *options, uint64_t state_max,
                              struct yett_error *error);

/* The tags as they are kept: a line each. NULL: none. -ENOMEM; the caller frees it. */
_must_check_ int record_join_tags(const char *const *tags, char **ret_text);

static inline void record_list_freep(struct yett_checkpoint_list **list)
{
	yett_checkpoint_list_free(*list);
}

static inline void record_freep(struct yett_checkpoint **checkpoint)
{
	yett_checkpoint_free(*checkpoint);
}
