/*
 * The tables that say what every message is made of, as encode.c and decode.c follow them. They are
 * made of those in which a field is declared (fields.h); PROTOCOL.md states them (a test compares
 * the two), and nothing else of the project knows the wire form of a field. Constant data and pure
 * checks; no privilege, no allocation. A program links the tables of those whom it talks to:
 * schema_helper.c alone with schema_few.c, or all of them with schema_all.c.
 */
#pragma once

#include "base/error.h"
#include "protocol/message.h"

enum schema_kind {
	SCHEMA_UINT32,
	SCHEMA_UINT64,
	SCHEMA_BITS, /* uint32_t; `max` is the mask of the bits that have a meaning */
	SCHEMA_BOOL,
	SCHEMA_TEXT,
	SCHEMA_PATH, /* struct text whose bytes may be any but NUL: names of files need not be UTF-8
	              */
	SCHEMA_BYTES, /* uint8_t[size] */
	SCHEMA_MAP,   /* `nested` */
};

enum schema_text {
	SCHEMA_TEXT_ANY,         /* UTF-8 without NUL, as all of them */
	SCHEMA_TEXT_NAME,        /* [a-z0-9][a-z0-9._-]* */
	SCHEMA_TEXT_HOSTNAME,    /* [A-Za-z0-9][A-Za-z0-9.-]* */
	SCHEMA_TEXT_HEX,         /* [0-9a-f]* */
	SCHEMA_TEXT_ENVIRONMENT, /* NAME=VALUE, the name not empty */
};

enum schema_list {
	SCHEMA_ONE,     /* not a list */
	SCHEMA_FIXED,   /* exactly items_max */
	SCHEMA_COUNTED, /* items_min … items_max, as many as the uint32_t at count_offset says */
};

struct schema_field {
	const char *name;
	enum schema_kind kind; /* of each item, if a list */
	enum schema_text text;
	enum schema_list list;
	size_t offset, size; /* in the struct of the table; of one item */
	uint64_t min, max;   /* of the number, or of the length in bytes */
	uint32_t items_min, items_max;
	size_t count_offset;
	const struct schema *nested;
};

struct schema {
	const char *name;
	uint32_t kind; /* enum message_kind; 0 for a table that only nests */
	size_t size;   /* of the struct */
	const struct schema_field *fields;
	size_t fields_count;
};

/* Where in a message a reader or writer stands. */
#define SCHEMA_DEPTH_MAX 4
struct schema_path {
	struct schema_step {
		const char *name;
		int64_t index; /* -1: not within a list */
	} steps[SCHEMA_DEPTH_MAX];
	unsigned depth;
};

/* Tables of messages. A program has schema_sets, which ends with NULL. */
struct schema_set {
	const struct schema *rows;
	size_t count;
};
extern const struct schema_set schema_helper, schema_command, schema_file, *const schema_sets[];
extern const struct schema
	exited_table; /* what a command came to, also as a part of other messages */

/* The table of a kind; NULL for a number that is none of this program's. */
const struct schema *schema_find(uint32_t kind);

/* Whether a value keeps to its field's bounds: YETT_R_NONE, or the rule that it breaks. */
enum yett_reason schema_check_number(const struct schema_field *field, uint64_t value);
enum yett_reason schema_check_items(const struct schema_field *field, uint64_t count);
enum yett_reason schema_check_text(const struct schema_field *field, const char *bytes,
                                   size_t length);

/* Puts '?' for every byte that is not part of UTF-8 (a text cut in the middle of a character, say).
 */
void schema_clean_text(char *string);

/* Moves into and out of a field; index -1 where it is not an item of a list. */
void schema_path_enter(struct schema_path *path, const char *name, int64_t index);
void schema_path_leave(struct schema_path *path);
