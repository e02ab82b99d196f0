/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, times, processors and numbers as people write them, and as they are written for people. */
#include <string.h>

#include "base/units_format.h"
#include "base/units_parse.h"
#include "tests/support/testing.h"

TEST(durations_are_read_with_their_unit)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {{"300ms", 300},       {"2s", 2000},        {"5m", 300000},    {"1h", 3600000},
	            {"720h", 2592000000}, {"01s", 1000},       {"5", 5000},       {"0.5", 500},
	            {"1.5s", 1500},       {"1h30m", 5400000},  {"2d", 172800000}, {"1m0s", 60000},
	            {"0.0015s", 2},       {"0.0001s", 1},      {"0.5ms", 1},      {"0s", 0},
	            {"0.000ms", 0},       {"721h", 2595600000}};
	uint64_t ms;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(units_parse_duration(rows[i].text, &ms), 0);
		assert_int_equal(ms, rows[i].ms);
	}
}

TEST(other_durations_are_refused)
{
	static const char *const texts[] = {"",
	                                    "s",
	                                    "-1s",
	                                    "+1s",
	                                    " 1s",
	                                    "1s ",
	                                    "1S",
	                                    "1.s",
	                                    ".5",
	                                    "1h30",
	                                    "1w",
	                                    "1e3",
	                                    "1ss",
	                                    "99999999999999999999s",
	                                    "18446744073709551615h",
	                                    "11111111111111111111111111111111111111111s"};
	uint64_t ms = 7;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_true(units_parse_duration(texts[i], &ms) < 0);
	assert_int_equal(ms, 7);
}

TEST(sizes_are_read_as_people_write_them)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} rows[] = {{"0", 0},
	            {"4096", 4096},
	            {"64M", 64 << 20},
	            {"64m", 64 << 20},
	            {"64MB", 64 << 20},
	            {"64mb", 64 << 20},
	            {"64MiB", 64 << 20},
	            {"64Mi", 64 << 20},
	            {"1.5G", 3ULL << 29},
	            {"0.0001K", 2},
	            {"0.0K", 0},
	            {"2k", 2048},
	            {"1T", 1ULL << 40},
	            {"512B", 512},
	            {"16777215T", 16777215ULL << 40}};
	static const char *const wrong[] = {
		"",    "M",     "64Q", "-1",        "+1",
		" 1",  "1 ",    "1 M", "1.5",       "1.M",
		"1MM", "1MiBB", "1e3", "16777216T", "18446744073709551616"};
	uint64_t bytes;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(units_parse_size(rows[i].text, &bytes), 0);
		assert_int_equal(bytes, rows[i].bytes);
	}
	bytes = 7;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_true(units_parse_size(wrong[i], &bytes) < 0);
	assert_int_equal(bytes, 7);
}

TEST(core_files_have_a_least_size_or_none)
{
	uint64_t n = 0;

	assert_int_equal(units_parse_core("none", &n), 0);
	assert_int_equal(n, 1);
	assert_int_equal(units_parse_core("4K", &n), 0);
	assert_int_equal(n, 4096);
	assert_int_equal(units_parse_core("4095", &n), -EINVAL);
	assert_int_equal(units_parse_core("0", &n), -EINVAL);
	assert_int_equal(units_parse_core("1", &n), -EINVAL);
}

TEST(what_is_beyond_64_bits_is_told_apart_from_what_is_no_number)
{
	uint64_t n = 7;

	assert_int_equal(units_parse_size("16777216T", &n), -ERANGE);
	assert_int_equal(units_parse_size("18446744073709551616", &n), -ERANGE);
	assert_int_equal(units_parse_size(" 2", &n), -EINVAL);
	assert_int_equal(units_parse_duration("18446744073709551615h", &n), -ERANGE);
	assert_int_equal(units_parse_cpus("99999999999999999", &n), -ERANGE);
	assert_int_equal(units_parse_cpus("0.1234", &n), -EINVAL);
	assert_int_equal(units_parse_number("18446744073709551616", &n), -ERANGE);
	assert_int_equal(units_parse_number("1.0", &n), -EINVAL);
	assert_int_equal(n, 7);
	assert_int_equal(units_parse_cpus("0.125", &n), 0);
	assert_int_equal(n, 125);
}

TEST(what_is_written_loses_nothing)
{
	char text[UNITS_TEXT_SIZE];

	assert_string_equal(units_format_size(1536ull << 20, text), "1536M");
	assert_string_equal(units_format_size(0, text), "0");
	assert_string_equal(units_format_size(1001, text), "1001");
	assert_string_equal(units_format_cpus(1500, text), "1.5");
	assert_string_equal(units_format_cpus(2000, text), "2");
	assert_string_equal(units_format_cpus(10000, text), "10");
	assert_string_equal(units_format_duration(0, text), "0ms");
	assert_string_equal(units_format_duration(1500, text), "1500ms");
	assert_string_equal(units_format_duration(5400000, text), "90m");
	assert_string_equal(units_format_duration(172800000, text), "48h");
}

TEST_MAIN(NULL, NULL)
