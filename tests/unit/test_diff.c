/* SPDX-License-Identifier: Apache-2.0 */
/* What yett-diff decides of names, modes and wanted paths, and how it writes paths. */
#include <string.h>
#include <sys/sysmacros.h>

#include "tests/support/testing.h"
#include "workspace/diff/diff.h"

TEST(each_pair_of_kinds_comes_to_one_decision)
{
	static const struct {
		uint32_t source, upper;
		bool is_whiteout;
		unsigned todo;
	} cases[] = {
		{0, 0, false, 0},
		{0, S_IFCHR, true, 0}, /* it went from the source meanwhile */
		{S_IFREG, S_IFCHR, true, DECIDE_DELETED},
		{S_IFREG, 0, false, DECIDE_DELETED}, /* in a directory that hides it */
		{S_IFDIR, S_IFCHR, true, DECIDE_DELETED | DECIDE_WALK_SOURCE},
		{S_IFREG | 0644, S_IFREG | 0755, false, DECIDE_COMPARE},
		{S_IFREG | 0644, S_IFREG | 0644, true, DECIDE_DELETED},
		{S_IFLNK, S_IFLNK, false, DECIDE_COMPARE},
		{S_IFDIR, S_IFDIR, false, DECIDE_COMPARE | DECIDE_WALK_BOTH},
		{S_IFDIR, S_IFREG, false, DECIDE_DELETED | DECIDE_WALK_SOURCE | DECIDE_ADDED},
		{S_IFREG, S_IFDIR, false, DECIDE_DELETED | DECIDE_ADDED | DECIDE_WALK_UPPER},
		{S_IFREG, S_IFLNK, false, DECIDE_DELETED | DECIDE_ADDED},
		{0, S_IFIFO, false, DECIDE_ADDED},
		{0, S_IFDIR, false, DECIDE_ADDED | DECIDE_WALK_UPPER},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(decide(cases[i].source, cases[i].upper, cases[i].is_whiteout),
		                 cases[i].todo);
}

TEST(only_the_device_0_0_is_a_whiteout)
{
	assert_true(decide_is_whiteout(&(struct stat){.st_mode = S_IFCHR | 0600}));
	assert_false(
		decide_is_whiteout(&(struct stat){.st_mode = S_IFCHR, .st_rdev = makedev(1, 5)}));
	assert_false(decide_is_whiteout(&(struct stat){.st_mode = S_IFBLK}));
	assert_false(decide_is_whiteout(&(struct stat){.st_mode = S_IFREG}));
}

TEST(wanted_are_paths_their_contents_and_on_the_way_what_is_above)
{
	char *wanted[] = {"a/b", "c"};
	const struct diff some = {.wanted = wanted, .wanted_count = 2}, all = {0};

	assert_true(decide_is_wanted(&all, "x", false));
	assert_true(decide_is_wanted(&some, "a/b", false));
	assert_true(decide_is_wanted(&some, "a/b/c", false));
	assert_true(decide_is_wanted(&some, "c", false));
	assert_false(decide_is_wanted(&some, "a", false));
	assert_true(decide_is_wanted(&some, "a", true));
	assert_true(decide_is_wanted(&some, "", true));
	assert_false(decide_is_wanted(&some, "a/bc", true));
	assert_false(decide_is_wanted(&some, "cc", true));
}

TEST(paths_are_quoted_as_git_does)
{
	static const struct {
		const char *path, *quoted;
	} cases[] = {
		{"a b/c", "a/a b/c"},
		{"a\nb", "\"a/a\\nb\""},
		{"\"\\", "\"a/\\\"\\\\\""},
		{"\033[2J\a\x7f", "\"a/\\033[2J\\a\\177\""},
		{"\xc3\xa4", "\"a/\\303\\244\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[128] = "";
		FILE *to = fmemopen(text, sizeof text, "w");

		assert_non_null(to);
		quote_path(to, "a/", cases[i].path);
		assert_int_equal(fclose(to), 0);
		assert_string_equal(text, cases[i].quoted);
		assert_int_equal(quote_is_needed(cases[i].path), cases[i].quoted[0] == '"');
	}
}

TEST(a_move_is_told_with_what_the_names_have_in_common)
{
	static const struct {
		const char *old, *new, *told;
	} cases[] = {
		{"a", "b", "a => b"},
		{"dir/a", "dir/b", "dir/{a => b}"},
		{"a/file", "b/file", "{a => b}/file"},
		{"dir/a/file", "dir/b/file", "dir/{a => b}/file"},
		{"dir/file", "dir/sub/file", "dir/{ => sub}/file"},
		{"dir/sub/file", "dir/file", "dir/{sub => }/file"},
		{"file", "sub/file", "file => sub/file"},
		{"a/b/b/c", "a/b/c", "a/b/{b => }/c"},
		{"a/x", "ab/x", "{a => ab}/x"},
		{"dir/a\n", "dir/b", "\"dir/a\\n\" => dir/b"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[128] = "";
		FILE *to = fmemopen(text, sizeof text, "w");

		assert_non_null(to);
		quote_move(to, cases[i].old, cases[i].new);
		assert_int_equal(fclose(to), 0);
		assert_string_equal(text, cases[i].told);
	}
}

TEST_MAIN(NULL, NULL)
