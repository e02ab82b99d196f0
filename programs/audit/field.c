/* SPDX-License-Identifier: Apache-2.0 */
/* See field.h. RFC 8259 */
#include "programs/audit/field.h"
#include "programs/audit/chain.h"

#include <ctype.h>
#include <string.h>

struct cursor {
	const char *at, *end;
};

static void skip_space(struct cursor *c)
{
	while (c->at < c->end && strchr(" \t\r\n", *c->at) && *c->at)
		c->at++;
}

/* Moves from the opening quote past the closing quote of a string. */
static bool field_skip_text(struct cursor *c)
{
	for (c->at++; c->at < c->end; c->at++) {
		if (*c->at == '"') {
			c->at++;
			return true;
		}
		if (*c->at == '\\')
			c->at++;
	}
	return false;
}

/*
 * Moves past a value. Counts brackets without matching their kinds: a malformed line at worst makes
 * a lookup fail or find a wrong value.
 */
static bool field_skip_value(struct cursor *c)
{
	const char *begin;
	size_t depth = 0;

	do {
		skip_space(c);
		if (c->at >= c->end)
			return false;
		begin = c->at;
		if (*c->at == '"') {
			if (!field_skip_text(c))
				return false;
		} else if (*c->at == '{' || *c->at == '[') {
			if (++depth > FIELD_DEPTH_MAX)
				return false;
			c->at++;
		} else if (*c->at == '}' || *c->at == ']') {
			if (depth-- == 0)
				return false;
			c->at++;
		} else if (*c->at == ',' || *c->at == ':') {
			if (depth == 0)
				return false;
			c->at++;
		} else {
			while (c->at < c->end && !strchr(",:]}[{\" \t\r\n", *c->at))
				c->at++;
			if (c->at == begin)
				return false;
		}
	} while (depth > 0);
	return true;
}

/* Reads one member of an object: its name without quotes, and its value. */
static bool next_field(struct cursor *c, struct field *ret_name, struct field *ret_value)
{
	skip_space(c);
	ret_name->value = c->at + 1;
	if (c->at >= c->end || *c->at != '"' || !field_skip_text(c))
		return false;
	ret_name->length = (size_t)(c->at - 1 - ret_name->value);
	skip_space(c);
	if (c->at >= c->end || *c->at++ != ':')
		return false;
	skip_space(c);
	ret_value->value = c->at;
	if (!field_skip_value(c))
		return false;
	ret_value->length = (size_t)(c->at - ret_value->value);
	skip_space(c);
	if (c->at < c->end && *c->at == ',')
		c->at++;
	return true;
}

static bool find_one(struct field *in, const char *name, size_t name_length)
{
	struct cursor c = {in->value, in->value + in->length};
	struct field found, value;

	skip_space(&c);
	if (c.at >= c.end || *c.at++ != '{')
		return false;
	while (next_field(&c, &found, &value)) {
		if (found.length == name_length && memcmp(found.value, name, name_length) == 0) {
			*in = value;
			return true;
		}
	}
	return false;
}

static bool check_value(struct cursor *c, size_t depth);

/* Checks a string: no control characters, and only valid escapes. */
static bool field_check_text(struct cursor *c)
{
	for (c->at++; c->at < c->end && *c->at != '"'; c->at++) {
		if ((unsigned char)*c->at < 0x20)
			return false;
		if (*c->at != '\\')
			continue;
		if (++c->at >= c->end || !strchr("\"\\/bfnrtu", *c->at))
			return false;
		for (int i = 0; *c->at == 'u' && i < 4; i++)
			if (c->at + 1 + i >= c->end || !isxdigit((unsigned char)c->at[1 + i]))
				return false;
	}
	return c->at++ < c->end;
}

/* Checks the items between brackets, and their commas. */
static bool check_items(struct cursor *c, char close, size_t depth)
{
	c->at++;
	skip_space(c);
	if (c->at < c->end && *c->at == close) {
		c->at++;
		return true;
	}
	for (;;) {
		if (close == '}') {
			skip_space(c);
			if (c->at >= c->end || *c->at != '"' || !field_check_text(c))
				return false;
			skip_space(c);
			if (c->at >= c->end || *c->at++ != ':')
				return false;
		}
		if (!check_value(c, depth))
			return false;
		skip_space(c);
		if (c->at >= c->end || (*c->at != ',' && *c->at != close))
			return false;
		if (*c->at++ == close)
			return true;
	}
}

static bool check_value(struct cursor *c, size_t depth)
{
	static const char *const words[] = {"true", "false", "null"};
	const char *begin;

	skip_space(c);
	if (c->at >= c->end || depth > FIELD_DEPTH_MAX)
		return false;
	if (*c->at == '"')
		return field_check_text(c);
	if (*c->at == '{' || *c->at == '[')
		return check_items(c, *c->at == '{' ? '}' : ']', depth + 1);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		size_t length = strlen(words[i]);

		if ((size_t)(c->end - c->at) >= length && memcmp(c->at, words[i], length) == 0) {
			c->at += length;
			return true;
		}
	}
	/* Accepts only whole numbers, since yett-audit writes no others. */
	c->at += *c->at == '-';
	begin = c->at;
	while (c->at < c->end && isdigit((unsigned char)*c->at))
		c->at++;
	return c->at > begin && (*begin != '0' || c->at == begin + 1);
}

bool field_is_object(const char *text, size_t length)
{
	struct cursor c = {text, text + length};

	return length > 0 && *text == '{' && check_value(&c, 0) && c.at == c.end;
}

bool field_find(const char *object, size_t length, const char *path, struct field *ret_field)
{
	struct field in = {object, length};
	bool is_last = false;

	while (!is_last) {
		const char *dot = strchrnul(path, '.');

		is_last = *dot == '\0';
		if (!find_one(&in, path, (size_t)(dot - path)))
			return false;
		path = dot + 1;
	}
	*ret_field = in;
	return true;
}

bool field_number(const char *object, size_t length, const char *path, uint64_t *ret_number)
{
	struct field field;
	uint64_t number = 0;

	if (!field_find(object, length, path, &field) || field.length == 0)
		return false;
	for (size_t i = 0; i < field.length; i++) {
		unsigned digit = (unsigned)(unsigned char)field.value[i] - '0';

		if (digit > 9 || __builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return false;
	}
	*ret_number = number;
	return true;
}

static bool read_hex(const char *at, const char *end, uint32_t *ret_point)
{
	uint8_t bytes[2];
	char digits[5] = "";

	if (end - at < 4)
		return false;
	memcpy(digits, at, 4);
	if (!chain_unhex(digits, bytes, sizeof bytes))
		return false;
	*ret_point = (uint32_t)bytes[0] << 8 | bytes[1];
	return true;
}

/* Encodes a code point as UTF-8. Returns the length. */
static size_t put_point(uint32_t point, char out[4])
{
	if (point < 0x80) {
		out[0] = (char)point;
		return 1;
	}
	if (point < 0x800) {
		out[0] = (char)(0xc0 | point >> 6);
		out[1] = (char)(0x80 | (point & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | point >> 12);
	out[1] = (char)(0x80 | (point >> 6 & 0x3f));
	out[2] = (char)(0x80 | (point & 0x3f));
	return 3;
}

/*
 * Decodes one byte or escape sequence at `at`. Returns its length in the input; 0: it is not valid.
 */
static size_t field_read_one(const char *at, const char *end, char out[4], size_t *ret_length)
{
	static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
	const char *letter;
	uint32_t point;

	*ret_length = 1;
	out[0] = *at;
	if (*at != '\\')
		return 1;
	if (end - at < 2)
		return 0;
	out[0] = at[1];
	if (at[1] == 'u') {
		if (!read_hex(at + 2, end, &point))
			return 0;
		*ret_length = put_point(point ? point : 0xfffd, out);
		return 6;
	}
	letter = strchr(letters, at[1]);
	if (letter && *letter)
		out[0] = meant[letter - letters];
	return 2;
}

bool field_text(const char *object, size_t length, const char *path, char *out, size_t size)
{
	struct field field;
	const char *at, *end;
	size_t used = 0;

	if (!field_find(object, length, path, &field) || field.length == 0 ||
	    strchr("{[", *field.value) ||
	    (field.length == 4 && memcmp(field.value, "null", 4) == 0))
		return false;
	at = field.value;
	end = at + field.length;
	if (*at == '"') {
		at++;
		end--;
	}
	while (at < end) {
		char bytes[4];
		size_t count, step = field_read_one(at, end, bytes, &count);

		if (step == 0 || used + count >= size)
			break;
		memcpy(out + used, bytes, count);
		used += count;
		at += step;
	}
	out[used] = '\0';
	return true;
}

bool field_is(const char *object, size_t length, const char *path, const char *text)
{
	char found[1024];

	return strlen(text) < sizeof found - 4 &&
	       field_text(object, length, path, found, sizeof found) && strcmp(found, text) == 0;
}

bool field_bytes(const char *object, size_t length, const char *path, uint8_t *out, size_t size)
{
	char hex[CHAIN_HEX_SIZE];

	return 2 * size < sizeof hex && field_text(object, length, path, hex, sizeof hex) &&
	       strlen(hex) == 2 * size && chain_unhex(hex, out, size);
}
