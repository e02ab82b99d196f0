/* SPDX-License-Identifier: Apache-2.0 */
/* See json.h. */
#include "base/json.h"

#include <assert.h>
#include <string.h>

size_t json_utf8_next(const char *text, size_t left, uint32_t *ret_point)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	const unsigned char *at = (const unsigned char *)text;
	size_t length = *at < 0x80       ? 1
	                : *at >> 5 == 6  ? 2
	                : *at >> 4 == 14 ? 3
	                : *at >> 3 == 30 ? 4
	                                 : 0;
	uint32_t point = length == 1 ? *at : *at & (0x7fU >> length);

	if (length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	if (length == 0 || point < least[length] || point > 0x10ffff ||
	    (point >= 0xd800 && point < 0xe000))
		return 0;
	*ret_point = point;
	return length;
}

bool json_is_harmful(uint32_t point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0) ||
	       (point >= 0x200e && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069);
}

static void put_string(FILE *to, const char *text, size_t left)
{
	size_t plain = 0; /* how many of the next bytes need no escape */

	(void)fputc('"', to);
	while (plain < left) {
		uint32_t point = 0;
		size_t length = json_utf8_next(text + plain, left - plain, &point);

		if (length != 0 && !json_is_harmful(point) && point != '"' && point != '\\') {
			plain += length;
			continue;
		}
		(void)fwrite(text, 1, plain, to);
		if (length == 0)
			(void)fputs("\\ufffd", to);
		else if (point == '"' || point == '\\')
			(void)fprintf(to, "\\%c", (int)point);
		else
			(void)fprintf(to, "\\u%04x", point);
		plain += length ? length : 1;
		text += plain;
		left -= plain;
		plain = 0;
	}
	(void)fwrite(text, 1, plain, to);
	(void)fputc('"', to);
}

/* Writes what precedes a value: the comma and the name, if there are any. */
static void json_begin(struct json *json, const char *name)
{
	if (json->has_member)
		(void)fputc(',', json->to);
	json->has_member = true;
	if (!name)
		return;
	put_string(json->to, name, strlen(name));
	(void)fputc(':', json->to);
}

void json_open(struct json *json, const char *name, char bracket)
{
	assert(json->depth < JSON_DEPTH_MAX);
	json_begin(json, name);
	(void)fputc(bracket, json->to);
	json->open[json->depth++] = bracket == '{' ? '}' : ']';
	json->has_member = false;
}

void json_close(struct json *json)
{
	assert(json->depth > 0);
	(void)fputc(json->open[--json->depth], json->to);
	json->has_member = true;
}

void json_text(struct json *json, const char *name, const char *text)
{
	json_begin(json, name);
	if (text)
		put_string(json->to, text, strlen(text));
	else
		(void)fputs("null", json->to);
}

void json_text_or_null(struct json *json, const char *name, const char *text)
{
	json_text(json, name, text && *text ? text : NULL);
}

void json_number(struct json *json, const char *name, uint64_t number)
{
	json_begin(json, name);
	(void)fprintf(json->to, "%llu", (unsigned long long)number);
}

void json_number_or_null(struct json *json, const char *name, uint64_t number)
{
	if (number)
		json_number(json, name, number);
	else
		json_null(json, name);
}

void json_signed(struct json *json, const char *name, int64_t number)
{
	json_begin(json, name);
	(void)fprintf(json->to, "%lld", (long long)number);
}

void json_real(struct json *json, const char *name, double number)
{
	json_begin(json, name);
	(void)fprintf(json->to, "%.2f", number);
}

void json_bool(struct json *json, const char *name, bool value)
{
	json_begin(json, name);
	(void)fputs(value ? "true" : "false", json->to);
}

void json_null(struct json *json, const char *name)
{
	json_begin(json, name);
	(void)fputs("null", json->to);
}

void json_raw(struct json *json, const char *name, const char *value, size_t length)
{
	json_begin(json, name);
	(void)fwrite(value, 1, length, json->to);
}

/*
 * Valid JSON has raw C0 control characters only as whitespace between tokens, so a space can
 * replace them. JSON has non-ASCII characters only within strings, where \uNNNN is valid. RFC 8259,
 * 2 and 7
 */
void json_foreign(struct json *json, const char *name, const char *value)
{
	size_t left = strlen(value), length;

	json_begin(json, name);
	for (; left > 0; value += length, left -= length) {
		uint32_t point = 0;

		length = json_utf8_next(value, left, &point);
		if (length != 0 && !json_is_harmful(point))
			(void)fwrite(value, 1, length, json->to);
		else if (length != 0 && point < 0x20)
			(void)fputc(' ', json->to);
		else
			(void)fprintf(json->to, "\\u%04x", length ? point : 0xfffd);
		length = length ? length : 1;
	}
}

static bool json_is_text(const char *bytes, size_t length)
{
	uint32_t point;

	for (size_t at = 0, size; at < length; at += size) {
		size = json_utf8_next(bytes + at, length - at, &point);
		if (size == 0 || point == 0)
			return false;
	}
	return true;
}

static void put_base64(FILE *to, const unsigned char *bytes, size_t length)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	(void)fputc('"', to);
	for (size_t i = 0; i < length; i += 3) {
		size_t left = length - i;
		uint32_t group = (uint32_t)bytes[i] << 16 |
		                 (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
		                 (left > 2 ? bytes[i + 2] : 0);

		(void)fputc(digits[group >> 18], to);
		(void)fputc(digits[group >> 12 & 63], to);
		(void)fputc(left > 1 ? digits[group >> 6 & 63] : '=', to);
		(void)fputc(left > 2 ? digits[group & 63] : '=', to);
	}
	(void)fputc('"', to);
}

void json_bytes(struct json *json, const char *name, const char *bytes, size_t length)
{
	bool is_plain = json_is_text(bytes, length);

	json_open(json, name, '{');
	json_number(json, "length", length);
	json_begin(json, "text");
	if (is_plain)
		put_string(json->to, bytes, length);
	else
		(void)fputs("null", json->to);
	json_begin(json, "base64");
	if (is_plain)
		(void)fputs("null", json->to);
	else
		put_base64(json->to, (const unsigned char *)bytes, length);
	json_close(json);
}
