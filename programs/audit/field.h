/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks up fields of a record in its line of JSON. For programs that read records, which an
 * attacker may have edited.
 *
 * Pure functions, without privilege. A lookup in a text that is not JSON finds nothing. No function
 * allocates or reads past the line.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FIELD_DEPTH_MAX 32

struct field {
	const char *value; /* the raw JSON; a string has its quotes */
	size_t length;
};

/*
 * Whether the whole text is one JSON object such as yett-audit writes: strict JSON, but numbers
 * must be integers.
 */
bool field_is_object(const char *text, size_t length);

/* Finds a member by its path ("user.uid"). If a name occurs twice, finds the first. */
bool field_find(const char *object, size_t length, const char *path, struct field *ret_field);

/* Reads a member as a number. Also false if it is no number, or does not fit into 64 bits. */
bool field_number(const char *object, size_t length, const char *path, uint64_t *ret_number);

/*
 * Reads a member as text, unescaped and without quotes, cut to `size`. Numbers, true and false are
 * copied as they are. Also false for null, objects and arrays.
 */
bool field_text(const char *object, size_t length, const char *path, char *out, size_t size);

/* Whether the member is exactly that text. */
bool field_is(const char *object, size_t length, const char *path, const char *text);

/* Reads a member that is hexadecimal digits of exactly `size` bytes. */
bool field_bytes(const char *object, size_t length, const char *path, uint8_t *out, size_t size);
