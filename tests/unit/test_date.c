/* SPDX-License-Identifier: Apache-2.0 */
/* Dates of UTC, read strictly and written. */
#include <string.h>

#include <time.h>

#include "base/date.h"
#include "tests/support/testing.h"

TEST(what_is_a_date_is_read)
{
	static const struct {
		const char *text;
		uint64_t seconds;
		const char *written;
	} cases[] = {
		{"1970-01-01", 0, "1970-01-01T00:00:00Z"},
		{"2026-12-31", 1798675200, "2026-12-31T00:00:00Z"},
		{"2026-12-31T18:00:00Z", 1798740000, "2026-12-31T18:00:00Z"},
		{"2024-02-29T23:59:59Z", 1709251199, "2024-02-29T23:59:59Z"},
		{"2000-03-01", 951868800, "2000-03-01T00:00:00Z"},
		{"2100-03-01", 4107542400, "2100-03-01T00:00:00Z"},
		{"9999-12-31T23:59:59Z", 253402300799, "9999-12-31T23:59:59Z"},
	};
	char text[DATE_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t seconds = 1;

		assert_int_equal(date_parse(cases[i].text, &seconds), 0);
		assert_int_equal(seconds, cases[i].seconds);
		assert_string_equal(date_format(seconds, text), cases[i].written);
	}
}

TEST(every_day_of_a_century_is_what_the_c_library_says)
{
	for (time_t at = 0; at < (time_t)100 * 366 * 86400; at += 86400 - 7) {
		char text[DATE_TEXT_SIZE], wanted[DATE_TEXT_SIZE];
		uint64_t seconds;
		struct tm broken;

		assert_non_null(gmtime_r(&at, &broken));
		assert_int_equal(strftime(wanted, sizeof wanted, "%Y-%m-%dT%H:%M:%SZ", &broken),
		                 20);
		assert_string_equal(date_format((uint64_t)at, text), wanted);
		assert_int_equal(date_parse(text, &seconds), 0);
		assert_int_equal(seconds, at);
	}
}

TEST(what_is_no_date_is_refused)
{
	static const char *const texts[] = {"",
	                                    "2026",
	                                    "2026-12",
	                                    "2026-12-32",
	                                    "2026-00-10",
	                                    "2026-13-01",
	                                    "2026-02-29",
	                                    "2100-02-29",
	                                    "2026-04-31",
	                                    "2026-1-01",
	                                    "26-12-31",
	                                    "2026-12-31 ",
	                                    " 2026-12-31",
	                                    "2026/12/31",
	                                    "31-12-2026",
	                                    "1969-12-31",
	                                    "0000-01-01",
	                                    "2026-12-31T18:00:00",
	                                    "2026-12-31T18:00Z",
	                                    "2026-12-31 18:00:00Z",
	                                    "2026-12-31t18:00:00z",
	                                    "2026-12-31T24:00:00Z",
	                                    "2026-12-31T18:60:00Z",
	                                    "2026-12-31T18:00:60Z",
	                                    "2026-12-31T18:00:00+01:00",
	                                    "2026-12-31T18:00:00Zx",
	                                    "never"};
	uint64_t seconds = 77;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(date_parse(texts[i], &seconds), -EINVAL);
	assert_int_equal(seconds, 77);
}

TEST_MAIN(NULL, NULL)
