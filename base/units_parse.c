/* SPDX-License-Identifier: Apache-2.0 */
/* See units_parse.h. No privilege, no allocation. */
#include "base/units_parse.h"
#include "base/units_format.h"

#include <string.h>

/*
 * Parses one or more decimal digits. `*ret_end` is set to the first character after them. -EINVAL:
 * there is no digit; -ERANGE.
 */
static int units_digits(const char *text, const char **ret_end, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(number, (uint64_t)10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return -ERANGE;
	if (at == text)
		return -EINVAL;
	*ret_end = at;
	*ret_number = number;
	return 0;
}

int units_parse_number(const char *text, uint64_t *ret_number)
{
	const char *end;
	uint64_t number;
	int r = units_digits(text, &end, &number);

	if (r < 0)
		return r;
	if (*end)
		return -EINVAL;
	*ret_number = number;
	return 0;
}

/*
 * Parses a decimal number in thousandths: 1.5 becomes 1500. A number with more than three decimals
 * is rounded up. Advances `*at`.
 */
static int units_thousandths(const char **at, uint64_t *ret_thousandths)
{
	uint64_t number, digit = 100;
	bool is_more = false;
	int r = units_digits(*at, at, &number);

	if (r < 0)
		return r;
	if (__builtin_mul_overflow(number, (uint64_t)1000, &number))
		return -ERANGE;
	if (**at == '.') {
		if ((*at)[1] < '0' || (*at)[1] > '9')
			return -EINVAL;
		for (++*at; **at >= '0' && **at <= '9'; ++*at, digit /= 10) {
			number += digit * (uint64_t)(**at - '0'); /* adds at most 999 in all */
			is_more = is_more || (digit == 0 && **at != '0');
		}
	}
	return __builtin_add_overflow(number, is_more, ret_thousandths) ? -ERANGE : 0;
}

/* Adds `thousandths` / 1000 * `unit` to `*sum`, rounded up. -ERANGE on overflow. */
static int units_add(uint64_t *sum, uint64_t thousandths, uint64_t unit)
{
	uint64_t whole, part = (thousandths % 1000 * unit + 999) / 1000;

	if (__builtin_mul_overflow(thousandths / 1000, unit, &whole) ||
	    __builtin_add_overflow(*sum, whole, sum) || __builtin_add_overflow(*sum, part, sum))
		return -ERANGE;
	return 0;
}

/* Parses an optional unit: a letter, then an optional "i" if there is a letter, then "B" or "b". */
static uint64_t units_take_size(const char **at)
{
	uint64_t unit = 1;

	for (size_t i = 0; unit == 1 && i < UNITS_LETTERS; i++) {
		if (**at != units_letters[i] && **at != units_letters[i] - 'A' + 'a')
			continue;
		unit = (uint64_t)1 << (10 * (i + 1));
		*at += 1;
		if (**at == 'i')
			*at += 1;
	}
	if (**at == 'B' || **at == 'b')
		*at += 1;
	return unit;
}

int units_parse_size(const char *text, uint64_t *ret_bytes)
{
	uint64_t bytes = 0, thousandths, unit;
	const char *at = text;
	int r = units_thousandths(&at, &thousandths);

	if (r < 0)
		return r;
	unit = units_take_size(&at);
	if (*at || (unit == 1 && thousandths % 1000))
		return -EINVAL;
	r = units_add(&bytes, thousandths, unit);
	if (r == 0)
		*ret_bytes = bytes;
	return r;
}

int units_parse_core(const char *text, uint64_t *ret_bytes)
{
	uint64_t bytes;
	int r = strcmp(text, "none") == 0 ? 1 : units_parse_size(text, &bytes);

	if (r < 0)
		return r;
	if (r == 0 && bytes < 4096)
		return -EINVAL;
	*ret_bytes = r == 0 ? bytes : 1;
	return 0;
}

int units_parse_cpus(const char *text, uint64_t *ret_millis)
{
	const char *end;
	uint64_t millis, digit = 100;
	int r = units_digits(text, &end, &millis);

	if (r < 0)
		return r;
	if (millis > UINT64_MAX / 1000 - 1)
		return -ERANGE;
	millis *= 1000;
	if (*end == '.') {
		if (!end[1])
			return -EINVAL;
		for (end++; *end >= '0' && *end <= '9' && digit; end++, digit /= 10)
			millis += digit * (uint64_t)(*end - '0');
	}
	if (*end)
		return -EINVAL;
	*ret_millis = millis;
	return 0;
}

/* The text after `word`, if `text` begins with exactly that word of lower-case letters; or NULL. */
static const char *units_behind(const char *text, const char *word)
{
	for (; *word; word++, text++)
		if (*text != *word)
			return NULL;
	return *text >= 'a' && *text <= 'z' ? NULL : text;
}

static int units_take_time(const char **at, uint64_t *ret_ms)
{
	for (size_t i = 0; i < ARRAY_SIZE(units_times); i++) {
		const char *behind = units_behind(*at, units_times[i].unit);

		if (!behind)
			continue;
		*at = behind;
		*ret_ms = units_times[i].ms;
		return 0;
	}
	return -EINVAL;
}

int units_parse_duration(const char *text, uint64_t *ret_ms)
{
	const char *at = text;
	uint64_t sum = 0, thousandths, ms = 1000; /* a bare number is seconds, as in timeout(1) */

	do {
		bool is_first = at == text;
		int r = units_thousandths(&at, &thousandths);

		if (r == 0 && (*at || !is_first))
			r = units_take_time(&at, &ms);
		if (r == 0)
			r = units_add(&sum, thousandths, ms);
		if (r < 0)
			return r;
	} while (*at);
	*ret_ms = sum;
	return 0;
}
