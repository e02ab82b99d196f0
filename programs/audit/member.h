/*
 * Members of a record, looked up in its line of JSON: for who reads records, which somebody may
 * have edited.
 *
 * Pure functions, without privilege. What is no JSON has no members; nothing is allocated, and
 * nothing is read behind the line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MEMBER_DEPTH_MAX 32

struct member {
	const char *value; /* as it stands in the line: a text with its quotes */
	size_t length;
};

/* Whether it is an object, all of it, as yett-audit writes one: strict JSON but for what numbers
 * look like. */
bool member_is_object(const char *text, size_t length);

/* The member of that path ("user.uid") of an object; the first, where there are several. */
bool member_find(const char *object, size_t length, const char *path, struct member *ret_member);

/* The same as a number; false, too, for what is none, or above 64 bits. */
bool member_number(const char *object, size_t length, const char *path, uint64_t *ret_number);

/* The same as text, without quotes and escapes, cut to fit; numbers and words as they stand. False,
 * too, for null and for objects. */
bool member_text(const char *object, size_t length, const char *path, char *out, size_t size);

/* Whether it is that very text. */
bool member_is(const char *object, size_t length, const char *path, const char *text);

/* Of hexadecimal digits, just so many bytes. */
bool member_bytes(const char *object, size_t length, const char *path, uint8_t *out, size_t size);
