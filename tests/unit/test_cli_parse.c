/* SPDX-License-Identifier: Apache-2.0 */
/* Shares, tmpfs and paths as they are written on the command line. */
#include <string.h>

#include "cli/parse.h"
#include "tests/support/testing.h"

TEST(paths_are_made_absolute_and_plain)
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

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse_path(rows[i].directory, rows[i].path, &path), 0);
		assert_string_equal(path, rows[i].result);
		free(path);
	}
	assert_int_equal(parse_path("/a", "", &path), -EINVAL);
}

TEST(shares_are_split_before_an_absolute_target)
{
	static const struct {
		const char *text, *path, *target;
	} rows[] = {{"src", "src", "/w/src"},
	            {"/data:/mnt", "/data", "/mnt"},
	            {"a:b", "a:b", "/w/a:b"},
	            {"a:b:/c", "a:b", "/c"},
	            {".", ".", "/w"},
	            {"../x:/", "../x", "/"},
	            {"/a:/b:/c", "/a:/b", "/c"},
	            {"/data://x", "/data", "//x"}};
	char *path, *target;

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

TEST(copy_on_write_shares_have_perhaps_a_size_of_memory)
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
	static const char *const refused[] = {"",
	                                      ":/x",
	                                      ":memory=1M",
	                                      "/a:memory=",
	                                      "/a:memory=0",
	                                      "/a:memory=x",
	                                      "/a:memory=-1"};
	char *path, *target;
	uint64_t bytes;

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

TEST(tmpfs_have_a_target_and_perhaps_a_size)
{
	static const char *const refused[] = {
		"", "x", "x:1M", "/x:", "/x:1X", "/x:0", "/x:1M:", ":1M"};
	uint64_t bytes;
	char *target;

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

TEST_MAIN(NULL, NULL)
