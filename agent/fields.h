/*
 * What requests and answers are made of: tables of fields, from which checks, JSON Schemas and
 * documents come.
 *
 * Pure functions on JSON values, with the caller's privilege.
 */
#pragma once

#include <jansson.h>

#include "base/error.h"

enum field_kind {
	FIELD_TEXT,   /* UTF-8 without NUL */
	FIELD_NUMBER, /* without fraction */
	FIELD_REAL,   /* of answers only */
	FIELD_BOOL,
	FIELD_DURATION, /* seconds as a number, or a text like "30s", "500ms", "2m", "1h"; in
	                   answers seconds */
	FIELD_CHOICE,   /* one of `choices` */
	FIELD_TEXTS,    /* a list of texts */
	FIELD_MAP,      /* an object, whose members are texts */
	FIELD_OBJECT,   /* with `fields` */
	FIELD_OBJECTS,  /* a list of such */
	FIELD_ANY,      /* of answers only: whatever JSON it is */
};

enum field_flag {
	FIELD_REQUIRED = 1, /* in answers: it is always there */
	FIELD_NULLABLE = 2, /* it may be null, which in requests is as if it were not there */
};

/* How answers are written: json_dumps(). */
#define FIELD_DUMP (JSON_COMPACT | JSON_REAL_PRECISION(9))

/* A table ends with a row without name. */
struct field {
	const char *name;
	enum field_kind kind;
	uint32_t flags;   /* enum field_flag, or-ed */
	int64_t min, max; /* numbers: of it; texts: bytes; lists and maps: entries; durations:
	                     milliseconds. Both 0: no bound */
	const char *description;
	const char *const *choices; /* ends with NULL */
	const struct field *fields;
	const char *fallback; /* JSON: what a request without it means; NULL: nothing */
	size_t bytes;         /* of a map: names and values together have no more; 0: no bound */
};

/*
 * Whether `object` is one as the table says: nothing is in it that the table does not know.
 * YETT_E_INVALID_REQUEST, with the field named; YETT_E_UNSUPPORTED: it is one of other systems,
 * that makes no sense here.
 */
_must_check_ int fields_check(const struct field *fields, const json_t *object,
                              struct yett_error *error);

/* The JSON Schema (2020-12) of such an object, which the caller owns. NULL: no memory. */
json_t *fields_schema(const struct field *fields);

/* Members of an object that was checked; a member that is not there, or null, is NULL, false, or
 * `otherwise`. */
const char *field_text(const json_t *object, const char *name);
int64_t field_number(const json_t *object, const char *name, int64_t otherwise);
bool field_bool(const json_t *object, const char *name);
uint64_t field_duration_ms(const json_t *object, const char *name, uint64_t otherwise);
const json_t *field_get(const json_t *object, const char *name);

/* A duration as a text like "30s" or as a JSON number of seconds. -EINVAL, -ERANGE */
_must_check_ int field_parse_duration(const json_t *value, uint64_t *ret_ms);

/* The texts of a list, or NAME=VALUE of a map, as a list that ends with NULL; to be freed with
 * free(), with all in it. NULL: no memory. */
char **field_strings(const json_t *list_or_map);

/* Any bytes as a JSON text: those that are not UTF-8, and NUL, become U+FFFD. NULL: no memory. */
json_t *field_make_text(const char *bytes, size_t length);

/* The same of a string; null for the empty one and for NULL. */
json_t *field_make_text_or_null(const char *text);

/* Whether bytes are UTF-8 without NUL. */
bool field_is_text(const char *bytes, size_t length);
