/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON (RFC 8259) to a stream. Only this writer produces commas, quotes and brackets.
 *
 * Runs with the privilege of the caller. Text may be untrusted: bytes that are not UTF-8 become
 * U+FFFD, and characters that a terminal would interpret are written as \uNNNN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define JSON_DEPTH_MAX 16

struct json {
	FILE *to;
	char open[JSON_DEPTH_MAX]; /* the closing brackets to come, the innermost last */
	size_t depth;
	bool has_member; /* whether the innermost object or array has a member yet */
};

/*
 * Each function adds an object member `name`, or an array item if `name` is NULL. `bracket` is '{'
 * or '['. At most JSON_DEPTH_MAX objects and arrays can be open at a time.
 */
void json_open(struct json *json, const char *name, char bracket);
void json_close(struct json *json);
/* Writes null if `text` is NULL. */
void json_text(struct json *json, const char *name, const char *text);
/* Writes null if `text` is NULL or empty. */
void json_text_or_null(struct json *json, const char *name, const char *text);
void json_number(struct json *json, const char *name, uint64_t number);
/* Writes null if `number` is 0. */
void json_number_or_null(struct json *json, const char *name, uint64_t number);
void json_signed(struct json *json, const char *name, int64_t number);
/* Writes two decimals. */
void json_real(struct json *json, const char *name, double number);
void json_bool(struct json *json, const char *name, bool value);
void json_null(struct json *json, const char *name);

/* Writes `value`, which must be valid JSON, unchanged. */
void json_raw(struct json *json, const char *name, const char *value, size_t length);

/*
 * As json_raw() for JSON that came from a peer or a file. The value stays the same, but each
 * character that a terminal would interpret becomes \uNNNN or, between tokens, a space.
 */
void json_foreign(struct json *json, const char *name, const char *value);

/*
 * Writes bytes as an object {length, text, base64}. If the bytes are UTF-8 without NUL, `text`
 * holds them and `base64` is null. Otherwise `base64` (RFC 4648) holds them and `text` is null.
 */
void json_bytes(struct json *json, const char *name, const char *bytes, size_t length);

/*
 * Decodes the UTF-8 character (RFC 3629) at the start of `text`, of which `left` bytes, at least
 * one, can be read. Returns the character's length in bytes, or 0 if the bytes are not valid UTF-8.
 */
size_t json_utf8_next(const char *text, size_t left, uint32_t *ret_point);

/*
 * Whether a terminal would interpret the character (a control character), or the character changes
 * how other text appears (a bidirectional control, a line separator).
 */
bool json_is_harmful(uint32_t point);
