/* See units.h. No privilege, no allocation. */
#include "base/units.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char units_letters[] = "KMGT";

/* Reads digits up to `end`; at least one. */
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

static const struct {
	const char *unit;
	uint64_t ms;
} units_times[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};

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

char *units_format_duration(uint64_t ms, char out[UNITS_TEXT_SIZE])
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(units_times) && (ms == 0 || ms % units_times[i].ms != 0))
		i++;
	(void)snprintf(out, UNITS_TEXT_SIZE, "%llu%s", (unsigned long long)(ms / units_times[i].ms), units_times[i].unit);
	return out;
}

char *units_format_size(uint64_t bytes, char out[UNITS_TEXT_SIZE])
{
	size_t unit = 0;

	while (bytes && bytes % 1024 == 0 && unit < strlen(units_letters)) {
		bytes /= 1024;
		unit++;
	}
	(void)snprintf(out, UNITS_TEXT_SIZE, "%llu%.1s", (unsigned long long)bytes,
	               unit ? units_letters + unit - 1 : "");
	return out;
}

char *units_format_cpus(uint64_t millis, char out[UNITS_TEXT_SIZE])
{
	int length = snprintf(out, UNITS_TEXT_SIZE, "%llu.%03llu", (unsigned long long)(millis / 1000),
	                      (unsigned long long)(millis % 1000));

	while (length > 1 && out[length - 1] == '0')
		out[--length] = '\0';
	if (length > 1 && out[length - 1] == '.')
		out[--length] = '\0';
	return out;
}

char *units_format_number(uint64_t number, char out[UNITS_TEXT_SIZE])
{
	(void)snprintf(out, UNITS_TEXT_SIZE, "%llu", (unsigned long long)number);
	return out;
}

size_t units_append(char *out, size_t size, const char *format, ...)
{
	va_list args;
	int n;

	if (size == 0)
		return 0;
	va_start(args, format);
	n = vsnprintf(out, size, format, args);
	va_end(args);
	return n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1;
}
