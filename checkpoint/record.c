/* SPDX-License-Identifier: Apache-2.0 */
/* See record.h. */
#include "checkpoint/record.h"

#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/json.h"

#define LIST_BYTES ((size_t)512 << 20)

struct yett_checkpoint_list {
	size_t count, room, bytes;
	struct yett_checkpoint **items;
};

/* The order of RECORD_COLUMNS_WITH_STATE. */
enum column {
	ID,
	THREAD,
	PARENT,
	STEP,
	NODE,
	TAGS,
	CUSTOM,
	SANDBOX,
	SNAPSHOT,
	STATE_SIZE,
	IS_JSON,
	STATE
};

/* One allocation: the struct and everything that it points to. */
struct record {
	struct yett_checkpoint checkpoint;
	size_t size;
	char id[YETT_CHECKPOINT_ID_SIZE], parent[YETT_CHECKPOINT_ID_SIZE];
	const char *tags[YETT_CHECKPOINT_TAGS_MAX + 1];
	char bytes[];
};

/* Maximum bytes, the same as record_check() and yett_checkpoint_put() accept. */
static const struct {
	enum column column;
	int max;
} texts[] = {
	{THREAD, YETT_CHECKPOINT_TEXT_MAX},
	{NODE, YETT_CHECKPOINT_TEXT_MAX},
	{TAGS, (YETT_CHECKPOINT_TAG_MAX + 1) * YETT_CHECKPOINT_TAGS_MAX},
	{CUSTOM, YETT_CHECKPOINT_CUSTOM_MAX},
	{SANDBOX, YETT_CHECKPOINT_TEXT_MAX},
	{SNAPSHOT, YETT_CHECKPOINT_TEXT_MAX},
};

/* Returns why this library cannot have written the row, or NULL. */
static const char *find_damage(sqlite3_stmt *row)
{
	if (sqlite3_column_type(row, ID) != SQLITE_BLOB ||
	    sqlite3_column_bytes(row, ID) != UUID_SIZE)
		return "an id is none";
	if (sqlite3_column_type(row, PARENT) != SQLITE_NULL &&
	    (sqlite3_column_type(row, PARENT) != SQLITE_BLOB ||
	     sqlite3_column_bytes(row, PARENT) != UUID_SIZE))
		return "the id of a parent is none";
	if (sqlite3_column_type(row, THREAD) == SQLITE_NULL)
		return "a checkpoint is of no thread";
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (sqlite3_column_bytes(row, texts[i].column) > texts[i].max)
			return "a text is longer than one can be";
	if (!sqlite3_column_int(row, IS_JSON))
		return "what was added to a checkpoint is not JSON";
	if (sqlite3_column_count(row) > STATE &&
	    sqlite3_column_bytes(row, STATE) != sqlite3_column_int64(row, STATE_SIZE))
		return "a state is not whole";
	return NULL;
}

/*
 * Returns the bytes of a column, converted to text except for the state. NULL: there are none, or
 * no memory for them.
 */
static const void *checkpoint_record_bytes_of(sqlite3_stmt *row, enum column column,
                                              size_t *ret_size)
{
	const void *bytes = column == STATE ? sqlite3_column_blob(row, column)
	                                    : sqlite3_column_text(row, column);

	*ret_size = bytes ? (size_t)sqlite3_column_bytes(row, column) : 0;
	return bytes;
}

/* Bytes for all texts and the state, each with a trailing NUL. */
static size_t room_for(sqlite3_stmt *row, bool has_state)
{
	size_t room = 0, size;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		(void)checkpoint_record_bytes_of(row, texts[i].column, &size);
		room += size + 1;
	}
	if (has_state) {
		(void)checkpoint_record_bytes_of(row, STATE, &size);
		room += size + 1;
	}
	return room;
}

/*
 * Copies a column with a NUL to *at, and advances *at past it. Returns NULL if the column is NULL.
 */
static char *checkpoint_record_copy(sqlite3_stmt *row, enum column column, char **at)
{
	size_t size;
	const void *bytes = checkpoint_record_bytes_of(row, column, &size);
	char *copied = *at;

	if (!bytes)
		return NULL;
	memcpy(copied, bytes, size);
	copied[size] = '\0';
	*at += size + 1;
	return copied;
}

static void split_tags(char *text, const char *tags[static YETT_CHECKPOINT_TAGS_MAX + 1])
{
	size_t count = 0;

	while (text && count < YETT_CHECKPOINT_TAGS_MAX)
		tags[count++] = strsep(&text, "\n");
	tags[count] = NULL;
}

/* The state is not NULL even if it is empty. */
static void checkpoint_record_copy_state(sqlite3_stmt *row, struct yett_checkpoint *checkpoint,
                                         char **at)
{
	char *none = *at;

	checkpoint->state = checkpoint_record_copy(row, STATE, at);
	if (checkpoint->state)
		return;
	*none = '\0';
	checkpoint->state = none;
}

static void checkpoint_record_fill(sqlite3_stmt *row, struct record *record, bool has_state)
{
	struct yett_checkpoint *checkpoint = &record->checkpoint;
	const uint8_t *id = sqlite3_column_blob(row, ID),
		      *parent = sqlite3_column_blob(row, PARENT);
	char *at = record->bytes;

	uuid_print(id, record->id);
	if (parent)
		uuid_print(parent, record->parent);
	split_tags(checkpoint_record_copy(row, TAGS, &at), record->tags);
	*checkpoint = (struct yett_checkpoint){
		.size = sizeof *checkpoint,
		.id = record->id,
		.thread = checkpoint_record_copy(row, THREAD, &at),
		.parent = parent ? record->parent : NULL,
		.state_size = (size_t)sqlite3_column_int64(row, STATE_SIZE),
		.step = sqlite3_column_int64(row, STEP),
		.node = checkpoint_record_copy(row, NODE, &at),
		.tags = record->tags,
		.custom = checkpoint_record_copy(row, CUSTOM, &at),
		.sandbox = checkpoint_record_copy(row, SANDBOX, &at),
		.snapshot = checkpoint_record_copy(row, SNAPSHOT, &at),
		.created_ms = uuid_time(id),
	};
	if (has_state)
		checkpoint_record_copy_state(row, checkpoint, &at);
}

int record_read(const struct database *database, sqlite3_stmt *statement,
                struct yett_checkpoint **ret_checkpoint, struct yett_error *error)
{
	bool has_state = sqlite3_column_count(statement) > STATE;
	const char *damage = find_damage(statement);
	struct record *record;
	size_t size;

	if (damage)
		return database_damaged(database, damage, error);
	size = sizeof *record + room_for(statement, has_state);
	record = malloc(size);
	if (!record)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for a checkpoint");
	checkpoint_record_fill(statement, record, has_state);
	record->size = size;
	if (!record->checkpoint.thread || sqlite3_errcode(database->connection) == SQLITE_NOMEM) {
		yett_checkpoint_free(&record->checkpoint);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "there is not enough memory for a checkpoint");
	}
	*ret_checkpoint = &record->checkpoint;
	return 0;
}

int record_read_id(const struct database *database, sqlite3_stmt *statement,
                   uint8_t ret_id[static UUID_SIZE], struct yett_error *error)
{
	if (sqlite3_column_type(statement, ID) != SQLITE_BLOB ||
	    sqlite3_column_bytes(statement, ID) != UUID_SIZE)
		return database_damaged(database, "an id is none", error);
	memcpy(ret_id, sqlite3_column_blob(statement, ID), UUID_SIZE);
	return 0;
}

/* Takes ownership of the checkpoint even on failure. Returns false if there is no memory. */
static bool checkpoint_record_add(struct yett_checkpoint_list *list,
                                  struct yett_checkpoint *checkpoint)
{
	size_t room = list->room ? list->room * 2 : 16;
	struct yett_checkpoint **items = list->items;

	if (list->count == list->room) {
		items = reallocarray(list->items, room, sizeof *items);
		if (!items) {
			yett_checkpoint_free(checkpoint);
			return false;
		}
		list->items = items;
		list->room = room;
	}
	items[list->count++] = checkpoint;
	list->bytes += ((const struct record *)checkpoint)->size;
	return true;
}

/*
 * Ids in a list must descend. In a damaged file whose pages refer to each other in a circle, an id
 * comes again, and the list would not end.
 */
static bool is_in_order(const struct yett_checkpoint_list *list)
{
	return list->count < 2 ||
	       strcmp(list->items[list->count - 2]->id, list->items[list->count - 1]->id) > 0;
}

struct yett_checkpoint_list *record_list_new(struct yett_error *error)
{
	struct yett_checkpoint_list *list = calloc(1, sizeof *list);

	if (!list)
		(void)error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                "there is not enough memory for a list of checkpoints");
	return list;
}

int record_list_rows(const struct database *database, sqlite3_stmt *statement,
                     struct yett_checkpoint_list *list, struct yett_error *error)
{
	int step;

	while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
		struct yett_checkpoint *checkpoint;
		int r = record_read(database, statement, &checkpoint, error);

		if (r)
			return r;
		if (!checkpoint_record_add(list, checkpoint))
			return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                 "there is not enough memory for a list of checkpoints");
		if (!is_in_order(list))
			return database_damaged(database, "a checkpoint is in it twice", error);
		if (list->bytes > LIST_BYTES)
			return error_set(
				error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
				"the list would have more than %zu MiB, after %zu checkpoints",
				LIST_BYTES >> 20, list->count);
	}
	return step == SQLITE_DONE ? 0 : database_failed(database, error);
}

size_t yett_checkpoint_list_count(const struct yett_checkpoint_list *list)
{
	return list->count;
}

const struct yett_checkpoint *yett_checkpoint_list_get(const struct yett_checkpoint_list *list,
                                                       size_t i)
{
	return i < list->count ? list->items[i] : NULL;
}

void yett_checkpoint_list_free(struct yett_checkpoint_list *list)
{
	for (size_t i = 0; list && i < list->count; i++)
		yett_checkpoint_free(list->items[i]);
	if (list)
		free(list->items);
	free(list);
}

/* The checkpoint is the first member of its struct record, so this frees the whole record. */
void yett_checkpoint_free(struct yett_checkpoint *checkpoint)
{
	free(checkpoint);
}

int record_check_text(const char *what, const char *text, size_t max, struct yett_error *error)
{
	size_t length = text ? strnlen(text, max + 1) : 0, step;

	if (length == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_SHORT, "the %s is empty",
		                 what);
	if (length > max)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the %s is longer than %zu bytes", what, max);
	for (size_t at = 0; at < length; at += step) {
		uint32_t point;

		step = json_utf8_next(text + at, length - at, &point);
		if (step == 0)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NOT_UTF8,
			                 "the %s is not UTF-8, at byte %zu", what, at);
		if (point < 0x20 || (point >= 0x7f && point < 0xa0))
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			                 "the %s has a control character, at byte %zu", what, at);
	}
	return 0;
}

int record_check_id(const char *what, const char *text, uint8_t ret_id[static UUID_SIZE],
                    struct yett_error *error)
{
	if (text && uuid_parse(text, ret_id))
		return 0;
	return error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"%s '%.80s' is no id of a checkpoint, like 0192f6a4-7c1e-7a3b-9d52-0c6b1f0e8d11",
		what, text ? ESCAPE(text) : "");
}

static int check_tags(const char *const *tags, struct yett_error *error)
{
	size_t count = 0;
	int r = 0;

	while (r == 0 && tags && tags[count]) {
		if (count == YETT_CHECKPOINT_TAGS_MAX)
			return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			                 "more than %d tags", YETT_CHECKPOINT_TAGS_MAX);
		r = record_check_text("tag", tags[count++], YETT_CHECKPOINT_TAG_MAX, error);
	}
	return r;
}

int record_check(const struct yett_checkpoint_put_options *options, uint64_t state_max,
                 struct yett_error *error)
{
	const struct {
		const char *what, *text;
	} names[] = {{"node", options->node},
	             {"id of a sandbox", options->sandbox},
	             {"name of a snapshot", options->snapshot}};
	int r = record_check_text("name of a thread", options->thread, YETT_CHECKPOINT_TEXT_MAX,
	                          error);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(names); i++)
		if (names[i].text)
			r = record_check_text(names[i].what, names[i].text,
			                      YETT_CHECKPOINT_TEXT_MAX, error);
	if (r == 0)
		r = check_tags(options->tags, error);
	if (r)
		return r;
	if (options->snapshot && !options->sandbox)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_MISSING_FIELD,
		                 "a snapshot is named without the sandbox that it is of");
	if (options->state_size && !options->state)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_MISSING_FIELD,
		                 "the state has a size, but is NULL");
	if (options->state_size > state_max)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "the state has %zu bytes, and may have %llu at most",
		                 options->state_size, (unsigned long long)state_max);
	return 0;
}

int record_join_tags(const char *const *tags, char **ret_text)
{
	size_t size = 0;
	char *text, *at;

	*ret_text = NULL;
	for (size_t i = 0; tags && tags[i]; i++)
		size += strlen(tags[i]) + 1;
	if (size == 0)
		return 0;
	at = text = malloc(size);
	if (!text)
		return -ENOMEM;
	for (size_t i = 0; tags[i]; i++)
		at = stpcpy(stpcpy(at, i ? "\n" : ""), tags[i]);
	*ret_text = text;
	return 0;
}
