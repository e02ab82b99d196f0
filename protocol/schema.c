/* SPDX-License-Identifier: Apache-2.0 */
/* See schema.h. Finds a table, and checks a value against its row. Pure; no privilege. */
#include "protocol/schema.h"

#include <string.h>

const struct schema *schema_find(uint32_t kind)
{
	for (const struct schema_set *const *set = schema_sets; *set; set++)
		for (size_t i = 0; i < (*set)->count; i++)
			if ((*set)->rows[i].kind == kind)
				return &(*set)->rows[i];
	return NULL;
}

enum yett_reason schema_check_number(const struct schema_field *field, uint64_t value)
{
	if (field->kind == SCHEMA_BITS)
		return value & ~field->max ? YETT_R_RESERVED : YETT_R_NONE;
	return value < field->min || value > field->max ? YETT_R_RANGE : YETT_R_NONE;
}

enum yett_reason schema_check_items(const struct schema_field *field, uint64_t count)
{
	uint32_t least = field->list == SCHEMA_FIXED ? field->items_max : field->items_min;

	if (count < least)
		return YETT_R_TOO_SHORT;
	return count > field->items_max ? YETT_R_TOO_LONG : YETT_R_NONE;
}

/*
 * Returns the length of the UTF-8 sequence that begins bytes[0 … length); 0 if there is none. RFC
 * 3629, section 4.
 */
static size_t utf8_sequence(const uint8_t *bytes, size_t length)
{
	static const struct {
		uint8_t first_low, first_high, second_low, second_high, size;
	} rows[] = {
		{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
		{0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3},
		{0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
		{0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	if (bytes[0] < 0x80)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (bytes[0] < rows[i].first_low || bytes[0] > rows[i].first_high)
			continue;
		if (rows[i].size > length || bytes[1] < rows[i].second_low ||
		    bytes[1] > rows[i].second_high)
			return 0;
		for (size_t j = 2; j < rows[i].size; j++)
			if ((bytes[j] & 0xc0) != 0x80)
				return 0;
		return rows[i].size;
	}
	return 0;
}

void schema_clean_text(char *string)
{
	uint8_t *bytes = (uint8_t *)string;

	for (size_t left = strlen(string), size; left > 0; left -= size, bytes += size) {
		size = utf8_sequence(bytes, left);
		if (size == 0) {
			*bytes = '?';
			size = 1;
		}
	}
}

static bool is_utf8(const char *string, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)string;

	for (size_t at = 0, size; at < length; at += size) {
		size = utf8_sequence(bytes + at, length - at);
		if (size == 0)
			return false;
	}
	return true;
}

/* Returns whether all bytes are in `set` and the first is a letter or digit. */
static bool is_made_of(const char *bytes, size_t length, const char *set)
{
	for (size_t i = 0; i < length; i++)
		if (!strchr(set, bytes[i]) || (i == 0 && strchr("._-", bytes[i])))
			return false;
	return true;
}

static bool has_form(enum schema_text text, const char *bytes, size_t length)
{
	static const char *const sets[] = {
		[SCHEMA_TEXT_NAME] = "abcdefghijklmnopqrstuvwxyz0123456789._-",
		[SCHEMA_TEXT_HOSTNAME] =
			"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-",
		[SCHEMA_TEXT_HEX] = "0123456789abcdef",
		[SCHEMA_TEXT_ENVIRONMENT] = NULL,
	};
	const char *equals = memchr(bytes, '=', length);

	return text == SCHEMA_TEXT_ENVIRONMENT
	               ? equals && equals > bytes
	               : !sets[text] || is_made_of(bytes, length, sets[text]);
}

enum yett_reason schema_check_text(const struct schema_field *field, const char *bytes,
                                   size_t length)
{
	if (length < field->min)
		return YETT_R_TOO_SHORT;
	if (length > field->max)
		return YETT_R_TOO_LONG;
	if (length > 0 && memchr(bytes, '\0', length))
		return YETT_R_EMBEDDED_NUL;
	if (field->kind == SCHEMA_PATH)
		return YETT_R_NONE;
	if (!is_utf8(bytes, length))
		return YETT_R_NOT_UTF8;
	return has_form(field->text, bytes, length) ? YETT_R_NONE : YETT_R_RANGE;
}

void schema_path_enter(struct schema_path *path, const char *name, int64_t index)
{
	path->steps[path->depth++] = (struct schema_step){name, index};
}

void schema_path_leave(struct schema_path *path)
{
	path->depth--;
}
