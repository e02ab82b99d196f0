/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of fields that describe requests and answers. Checks, JSON Schemas and documents are made
 * from them.
 *
 * Pure functions on JSON values. Run with the caller's privilege.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"

enum field_kind {
	FIELD_TEXT,   /* UTF-8 without NUL */
	FIELD_NUMBER, /* an integer */
	FIELD_REAL,   /* any number, also with a fraction */
	FIELD_BOOL,
	/* Seconds as a number, or a string like "30s", "500ms", "2m", "1h". In answers: seconds. */
	FIELD_DURATION,
	FIELD_CHOICE,  /* one of `choices` */
	FIELD_TEXTS,   /* a list of strings */
	FIELD_MAP,     /* an object whose members are strings */
	FIELD_OBJECT,  /* with `fields` */
	FIELD_OBJECTS, /* a list of objects with `fields` */
	FIELD_ANY,     /* only in answers: any JSON value */
};

enum field_flag {
	FIELD_REQUIRED = 1, /* in answers: always present */
	FIELD_NULLABLE = 2, /* may be null; in requests null means missing */
};

/* Flags of json_dumps() for answers. */
#define FIELD_DUMP (JSON_COMPACT | JSON_REAL_PRECISION(9))

/* A table ends with a row without a name. */
struct field {
	const char *name;
	enum field_kind kind;
	uint32_t flags; /* bits of enum field_flag */
	/*
	 * Bounds on the value of a number, the bytes of a string, the entries of a list or map, the
	 * milliseconds of a duration. Both 0: no bound.
	 */
	int64_t min, max;
	const char *description;
	const char *const *choices; /* ends with NULL */
	const struct field *fields;
	const char *fallback; /* JSON: the default in a request; NULL: none */
	size_t bytes;         /* of a map: limit of the names and values together; 0: no limit */
};

/*
 * Checks `object` against the table. Unknown members are refused. Returns 0;
 * YETT_E_INVALID_REQUEST, with the field named; or YETT_E_UNSUPPORTED for a field of other sandbox
 * systems that Yett cannot have.
 */
_must_check_ int fields_check(const struct field *fields, const json_t *object,
                              struct yett_error *error);

/* The JSON Schema (2020-12) of such an object, owned by the caller. NULL: no memory. */
json_t *fields_schema(const struct field *fields);

/* Read members of a checked object. A missing or null member gives NULL, false or `otherwise`. */
const char *field_text(const json_t *object, const char *name);
int64_t field_number(const json_t *object, const char *name, int64_t otherwise);
bool field_bool(const json_t *object, const char *name);
uint64_t field_duration_ms(const json_t *object, const char *name, uint64_t otherwise);
const json_t *field_get(const json_t *object, const char *name);

/* Parses a string like "30s" or a JSON number of seconds. Returns 0, -EINVAL or -ERANGE. */
_must_check_ int field_parse_duration(const json_t *value, uint64_t *ret_ms);

/*
 * The strings of a list, or NAME=VALUE for each member of a map, as a NULL-terminated array. One
 * free() frees the array and its strings. NULL: no memory.
 */
char **field_strings(const json_t *list_or_map);

/* A JSON string of any bytes: NUL and bytes that are not UTF-8 become U+FFFD. NULL: no memory. */
json_t *field_make_text(const char *bytes, size_t length);

/* As field_make_text() for a C string; JSON null for an empty string and for NULL. */
json_t *field_make_text_or_null(const char *text);

/* Whether bytes are UTF-8 without NUL. */
bool field_is_text(const char *bytes, size_t length);
