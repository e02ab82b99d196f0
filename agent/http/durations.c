/* SPDX-License-Identifier: Apache-2.0 */
/* See durations.h. */
#include "agent/http/durations.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_NS 9.2e18 /* 292 years: the limit of signed 64-bit nanoseconds */

static const struct {
	const char *name;
	double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};

char *durations_write(uint64_t ms, char text[DURATIONS_SIZE])
{
	uint64_t hours = ms / 3600000, minutes = ms / 60000 % 60;
	double seconds = (double)(ms % 60000) / 1000;

	if (ms > 0 && ms < 1000)
		(void)snprintf(text, DURATIONS_SIZE, "%" PRIu64 "ms", ms);
	else if (hours)
		(void)snprintf(text, DURATIONS_SIZE, "%" PRIu64 "h%" PRIu64 "m%gs", hours, minutes,
		               seconds);
	else if (minutes)
		(void)snprintf(text, DURATIONS_SIZE, "%" PRIu64 "m%gs", minutes, seconds);
	else
		(void)snprintf(text, DURATIONS_SIZE, "%gs", seconds);
	return text;
}

/* Parses one number with its unit. Returns the rest of the text; NULL: invalid. */
static const char *read_part(const char *text, double *ns)
{
	size_t length = strspn(text, "0123456789.");
	char *end;
	double number = strtod(text, &end);

	if (length == 0 || end != text + length)
		/*
		 * strtod(3) also accepts signs, exponents, "inf" and leading blanks; refuse those.
		 */
		return NULL;
	length = strcspn(end, "0123456789.");
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i].name) == length && strncmp(end, units[i].name, length) == 0) {
			*ns += number * units[i].ns;
			return end + length;
		}
	}
	return NULL;
}

int durations_read(const json_t *value, uint64_t *ret_ms)
{
	const char *text = json_string_value(value);
	double ns = json_is_number(value) ? json_number_value(value) : 0;

	if (!json_is_number(value) && (!text || !*text))
		return -EINVAL;
	while (text && *text)
		if (!(text = read_part(text, &ns)))
			return -EINVAL;
	if (!(ns >= 0 && ns <= MOST_NS))
		return -EINVAL;
	*ret_ms = (uint64_t)ceil(ns / 1e6);
	return 0;
}
