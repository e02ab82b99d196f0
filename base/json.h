/*
 * Writes JSON (RFC 8259) to a stream: commas, quotes and nesting are its business, and nothing
 * else's.
 *
 * Runs as the caller. Text that came from a peer or from the file system may be anything: what is
 * not UTF-8 becomes U+FFFD, and what a terminal would act on is written as \uNNNN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 16

struct json {
	FILE *to;
	char open[JSON_DEPTH_MAX]; /* what closes each object and array that is open, the innermost
	                              last */
	size_t depth;
	bool has_member; /* of the innermost */
};

/* Each adds a member of this name, or an item where `name` is NULL. The brackets are '{' or '['. */
void json_open(struct json *json, const char *name, char bracket);
void json_close(struct json *json);
void json_text(struct json *json, const char *name, const char *text); /* NULL: null */
void json_text_or_null(struct json *json, const char *name,
                       const char *text); /* the empty text is null, too */
void json_number(struct json *json, const char *name, uint64_t number);
void json_number_or_null(struct json *json, const char *name, uint64_t number); /* 0 is null */
void json_signed(struct json *json, const char *name, int64_t number);
void json_real(struct json *json, const char *name,
               double number); /* two places behind the point */
void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

/* What is JSON already: written as it is. */
void json_raw(struct json *json, const char *name, const char *value, size_t length);

/* The same of JSON that came from a peer or a file: the same value, but what a terminal would act
 * on is \uNNNN or a space. */
void json_foreign(struct json *json, const char *name, const char *value);

/*
 * Bytes as an object {length, text, base64}: `text` where they are UTF-8 and hold no NUL, `base64`
 * (RFC 4648) where they are not; the other one is null.
 */
void json_bytes(struct json *json, const char *name, const char *bytes, size_t length);

/* Reads one character of UTF-8 of at most `left` bytes: its length and code point; length 0 where
 * the bytes are none (RFC 3629). */
size_t json_utf8_next(const char *text, size_t left, uint32_t *ret_point);

/* Whether a terminal would act on it, or it would make text read as something else. */
bool json_is_harmful(uint32_t point);
