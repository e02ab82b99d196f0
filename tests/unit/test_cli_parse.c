/* Times, shares, tmpfs and paths as they are written on the command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/parse.h"

static void durations_are_read_with_their_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t ms;
	} rows[] = {{"300ms", 300}, {"2s", 2000},   {"5m", 300000},     {"1h", 3600000},   {"720h", 2592000000}, {"01s", 1000}, {"5", 5000},
	            {"0.5", 500},   {"1.5s", 1500}, {"1h30m", 5400000}, {"2d", 172800000}, {"1m0s", 60000},      {"0.0015s", 1}};
	uint64_t ms;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_duration(rows[i].text, &ms), 0);
		assert_int_equal(ms, rows[i].ms);
	}
}

static void other_durations_are_refused(void **state)
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
	                                    "0.0001s",
	                                    "30d1ms",
	                                    "0s",
	                                    "0ms",
	                                    "1ss",
	                                    "721h",
	                                    "99999999999999999999s",
	                                    "18446744073709551615h",
	                                    "11111111111111111111111111111111111111111s"};
	uint64_t ms = 7;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_true(parse_duration(texts[i], &ms) < 0);
	assert_int_equal(ms, 7);
}

static void sizes_are_read_as_people_write_them(void **state)
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
	            {"2k", 2048},
	            {"1T", 1ULL << 40},
	            {"512B", 512},
	            {"16777215T", 16777215ULL << 40}};
	static const char *const wrong[] = {
		"", "M", "64Q", "-1", "+1", " 1", "1 ", "1 M", "1.5", "1.M", "1MM", "1MiBB", "1e3", "16777216T", "18446744073709551616"};
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_size(rows[i].text, &bytes), 0);
		assert_int_equal(bytes, rows[i].bytes);
	}
	bytes = 7;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_true(parse_size(wrong[i], &bytes) < 0);
	assert_int_equal(bytes, 7);
}

static void paths_are_made_absolute_and_plain(void **state)
{
	static const struct {
		const char *directory, *path, *result;
	} rows[] = {{"/a/b", "c", "/a/b/c"},
	            {"/a/b", ".", "/a/b"},
	            {"/a/b", "..", "/a"},
	            {"/a/b", "../../..", "/"},
	            {"/a", "/x//y/./z/", "/x/y/z"},
	            {"/", "x", "/x"},
	            {"/", ".", "/"},
	            {"/a", "b/../c", "/a/c"},
	            {"/a", "...", "/a/..."},
	            {"/a", "/", "/"},
	            {"/a", "./.hidden", "/a/.hidden"}};
	char *path;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_path(rows[i].directory, rows[i].path, &path), 0);
		assert_string_equal(path, rows[i].result);
		free(path);
	}
	assert_int_equal(parse_path("/a", "", &path), -EINVAL);
}

static void shares_are_split_before_an_absolute_target(void **state)
{
	static const struct {
		const char *text, *path, *target;
	} rows[] = {{"src", "src", "/w/src"}, {"/data:/mnt", "/data", "/mnt"}, {"a:b", "a:b", "/w/a:b"},    {"a:b:/c", "a:b", "/c"},
	            {".", ".", "/w"},         {"../x:/", "../x", "/"},         {"/a:/b:/c", "/a:/b", "/c"}, {"/data://x", "/data", "//x"}};
	char *path, *target;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_share("/w", rows[i].text, &path, &target), 0);
		assert_string_equal(path, rows[i].path);
		assert_string_equal(target, rows[i].target);
		free(path);
		free(target);
	}
	assert_int_equal(parse_share("/w", "", &path, &target), -EINVAL);
	assert_int_equal(parse_share("/w", ":/x", &path, &target), -EINVAL);
}

static void copy_on_write_shares_have_perhaps_a_size_of_memory(void **state)
{
	static const struct {
		const char *text, *path, *target;
		uint64_t bytes;
	} rows[] = {{"src", "src", "/w/src", 0},
	            {"/data:/mnt", "/data", "/mnt", 0},
	            {"/data:memory=1M", "/data", "/data", 1 << 20},
	            {"/data:/mnt:memory=64K", "/data", "/mnt", 64 << 10},
	            {"a:memory", "a:memory", "/w/a:memory", 0},
	            {"memory=1M", "memory=1M", "/w/memory=1M", 0},
	            {"/a:memory=1M:/b", "/a:memory=1M", "/b", 0}};
	static const char *const refused[] = {"", ":/x", ":memory=1M", "/a:memory=", "/a:memory=0", "/a:memory=x", "/a:memory=-1"};
	char *path, *target;
	uint64_t bytes;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_cow("/w", rows[i].text, &path, &target, &bytes), 0);
		assert_string_equal(path, rows[i].path);
		assert_string_equal(target, rows[i].target);
		assert_int_equal(bytes, rows[i].bytes);
		free(path);
		free(target);
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_true(parse_cow("/w", refused[i], &path, &target, &bytes) < 0);
}

static void tmpfs_have_a_target_and_perhaps_a_size(void **state)
{
	static const char *const refused[] = {"", "x", "x:1M", "/x:", "/x:1X", "/x:0", "/x:1M:", ":1M"};
	uint64_t bytes;
	char *target;

	(void)state;
	assert_int_equal(parse_tmpfs("/scratch", &target, &bytes), 0);
	assert_string_equal(target, "/scratch");
	assert_int_equal(bytes, 0);
	free(target);
	assert_int_equal(parse_tmpfs("/scratch:64M", &target, &bytes), 0);
	assert_string_equal(target, "/scratch");
	assert_int_equal(bytes, 64 << 20);
	free(target);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		assert_true(parse_tmpfs(refused[i], &target, &bytes) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copy_on_write_shares_have_perhaps_a_size_of_memory),
		cmocka_unit_test(durations_are_read_with_their_unit),
		cmocka_unit_test(other_durations_are_refused),
		cmocka_unit_test(sizes_are_read_as_people_write_them),
		cmocka_unit_test(paths_are_made_absolute_and_plain),
		cmocka_unit_test(shares_are_split_before_an_absolute_target),
		cmocka_unit_test(tmpfs_have_a_target_and_perhaps_a_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
