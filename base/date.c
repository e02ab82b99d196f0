/* SPDX-License-Identifier: Apache-2.0 */
/* See date.h. */
#include "base/date.h"

#include <stdio.h>
#include <string.h>

#define A_DAY 86400

static bool is_leap(unsigned year)
{
	return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_of(unsigned year, unsigned month)
{
	static const unsigned char days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	return days[month - 1] + (month == 2 && is_leap(year));
}

/*
 * Matches `text` against `form`, in which '0' matches any digit and any other character itself.
 * Adds the value of each run of digits to `numbers`, which the caller sets to 0. False if the text
 * does not match.
 */
static bool read_form(const char *text, const char *form, unsigned *numbers)
{
	bool was_digit = false;

	for (; *form; form++, text++) {
		if (*form == '0' ? *text < '0' || *text > '9' : *text != *form)
			return false;
		if (*form != '0' && was_digit)
			numbers++;
		else if (*form == '0')
			*numbers = *numbers * 10 + (unsigned)(*text - '0');
		was_digit = *form == '0';
	}
	return !*text;
}

int date_parse(const char *text, uint64_t *ret_seconds)
{
	unsigned at[6] = {0};
	uint64_t days = 0;
	bool is_day = read_form(text, "0000-00-00", at);

	if (!is_day) {
		memset(at, 0, sizeof at);
		if (!read_form(text, "0000-00-00T00:00:00Z", at))
			return -EINVAL;
	}
	if (at[0] < 1970 || at[1] < 1 || at[1] > 12 || at[2] < 1 || at[2] > days_of(at[0], at[1]) ||
	    at[3] > 23 || at[4] > 59 || at[5] > 59)
		return -EINVAL;
	for (unsigned year = 1970; year < at[0]; year++)
		days += is_leap(year) ? 366 : 365;
	for (unsigned month = 1; month < at[1]; month++)
		days += days_of(at[0], month);
	*ret_seconds = (days + at[2] - 1) * A_DAY + at[3] * 3600 + at[4] * 60 + at[5];
	return 0;
}

char *date_format(uint64_t seconds, char out[DATE_TEXT_SIZE])
{
	uint64_t days = seconds / A_DAY;
	unsigned year = 1970, month = 1, left = (unsigned)(seconds % A_DAY);

	for (; year < 9999 && days >= (is_leap(year) ? 366u : 365u); year++)
		days -= is_leap(year) ? 366 : 365;
	for (; month < 12 && days >= days_of(year, month); month++)
		days -= days_of(year, month);
	(void)snprintf(out, DATE_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02uZ", year, month,
	               (unsigned)(days % 31) + 1, left / 3600, left / 60 % 60, left % 60);
	return out;
}
