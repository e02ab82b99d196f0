/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that describe the fields of every message. encode.c and decode.c follow them.
 *
 * They are made from the tables in which fields are declared (fields.h). PROTOCOL.md documents them
 * (a test compares the two), and no other code knows the encoding of a field. Constant data and
 * pure checks; no privilege, no allocation. A program links only the tables of its peers:
 * schema_helper.c with schema_few.c, or all of them with schema_all.c.
 */
#pragma once

#include "base/error.h"

enum schema_kind {
	SCHEMA_UINT32,
	SCHEMA_UINT64,
	SCHEMA_BITS, /* uint32_t; `max` is the mask of the bits that have a meaning */
	SCHEMA_BOOL,
	SCHEMA_TEXT,
	/* A struct text of any bytes but NUL: file names need not be UTF-8. */
	SCHEMA_PATH,
	SCHEMA_BYTES, /* uint8_t[size] */
	SCHEMA_MAP,   /* `nested` */
};

enum schema_text {
	SCHEMA_TEXT_ANY,         /* any UTF-8 without NUL; the other forms restrict that */
	SCHEMA_TEXT_NAME,        /* [a-z0-9][a-z0-9._-]* */
	SCHEMA_TEXT_HOSTNAME,    /* [A-Za-z0-9][A-Za-z0-9.-]* */
	SCHEMA_TEXT_HEX,         /* [0-9a-f]* */
	SCHEMA_TEXT_ENVIRONMENT, /* NAME=VALUE, the name not empty */
};

enum schema_list {
	SCHEMA_ONE,   /* not a list */
	SCHEMA_FIXED, /* exactly items_max */
	/* items_min … items_max items; the uint32_t at count_offset is their number */
	SCHEMA_COUNTED,
};

struct schema_field {
	const char *name;
	enum schema_kind kind; /* of each item, for a list */
	enum schema_text text;
	enum schema_list list;
	/* `offset` is in the struct of the table; `size` is that of one item. */
	size_t offset, size;
	uint64_t min, max; /* of a number, or of a length in bytes */
	uint32_t items_min, items_max;
	size_t count_offset;
	const struct schema *nested;
};

struct schema {
	const char *name;
	uint32_t kind; /* enum message_kind; 0 for a table that is only nested in others */
	size_t size;   /* of the struct */
	const struct schema_field *fields;
	size_t fields_count;
};

/* The position of an encoder or decoder in a message. */
#define SCHEMA_DEPTH_MAX 4
struct schema_path {
	struct schema_step {
		const char *name;
		int64_t index; /* -1: not in a list */
	} steps[SCHEMA_DEPTH_MAX];
	unsigned depth;
};

/* Tables of messages. Each program has a schema_sets, which ends with NULL. */
struct schema_set {
	const struct schema *rows;
	size_t count;
};
extern const struct schema_set schema_helper, schema_command, schema_file, *const schema_sets[];
/* The result of a command, which is also a part of other messages. */
extern const struct schema exited_table;

/* Returns the table of a kind; NULL for a kind that this program does not know. */
const struct schema *schema_find(uint32_t kind);

/* Check a value against its field's bounds: return YETT_R_NONE, or the rule that is broken. */
enum yett_reason schema_check_number(const struct schema_field *field, uint64_t value);
enum yett_reason schema_check_items(const struct schema_field *field, uint64_t count);
enum yett_reason schema_check_text(const struct schema_field *field, const char *bytes,
                                   size_t length);

/*
 * Replaces by '?' every byte that is not part of valid UTF-8, such as the rest of a character that
 * was cut.
 */
void schema_clean_text(char *string);

/* Enter and leave a field; `index` is -1 for a field that is not an item of a list. */
void schema_path_enter(struct schema_path *path, const char *name, int64_t index);
void schema_path_leave(struct schema_path *path);
