/* See units_parse.h. No privilege, no allocation. */
#include "base/units_parse.h"
#include "base/units_format.h"

#include <string.h>

/* Reads digits up to `end`; at least one. */
static int units_digits(const char *text, const char **ret_end, uint64_t *ret_number)
{
	uint64_t number = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9'; at++)
		if (__builtin_mul_overflow(number, (uint64_t)10, &number) || __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
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

int units_parse_size(const char *text, uint64_t *ret_bytes)
{
	const char *end, *letter;
	uint64_t bytes;
	int r = units_digits(text, &end, &bytes);

	if (r < 0)
		return r;
	if (*end) {
		letter = strchr(units_letters, *end);
		if (!letter || end[1])
			return -EINVAL;
		if (__builtin_mul_overflow(bytes, (uint64_t)1 << (10 * (letter - units_letters + 1)), &bytes))
			return -ERANGE;
	}
	*ret_bytes = bytes;
	return 0;
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

int units_parse_duration(const char *text, uint64_t *ret_ms)
{
	const char *end;
	uint64_t ms;
	int r = units_digits(text, &end, &ms);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(units_times); i++) {
		if (strcmp(end, units_times[i].unit) != 0)
			continue;
		return __builtin_mul_overflow(ms, units_times[i].ms, ret_ms) ? -ERANGE : 0;
	}
	return r < 0 ? r : -EINVAL;
}
