/* SPDX-License-Identifier: Apache-2.0 */
/* What yett-diff finds in real directories: several layers with whiteouts and marks, over a source;
 * and what of it was renamed. */
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <git2.h>

#include "tests/support/testing.h"
#include "workspace/diff/diff.h"

/*
 * PATH below the directory of the test: "d" a directory, "o" an opaque one, "x" one where whiteouts
 * may be files, "w" a whiteout, "e" one that is a file, "l" a link; else a file with what is behind
 * "=".
 */
struct item {
	const char *path, *what;
};

static char place[64];

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
	(void)st;
	(void)kind;
	(void)at;
	return remove(path);
}

static int make_place(void **state)
{
	(void)state;
	(void)snprintf(place, sizeof place, "test_diff_walk.XXXXXX");
	return mkdtemp(place) ? 0 : -1;
}

static int remove_place(void **state)
{
	(void)state;
	return nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void mark(const char *path, const char *name, const char *value)
{
	if (setxattr(path, name, value, strlen(value), 0) < 0 && errno == EOPNOTSUPP)
		skip(); /* no extended attributes of users on this file system */
	assert_true(getxattr(path, name, NULL, 0) >= 0);
}

static void make(const struct item *item)
{
	char path[256];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", place, item->path);
	if (strchr("dox", *item->what)) {
		assert_int_equal(mkdir(path, 0755), 0);
		if (*item->what != 'd')
			mark(path, "user.overlay.opaque", *item->what == 'o' ? "y" : "x");
	} else if (*item->what == 'w') {
		assert_int_equal(mknod(path, S_IFCHR, makedev(0, 0)), 0);
	} else if (*item->what == 'l') {
		assert_int_equal(symlink("/etc", path), 0);
	} else {
		file = fopen(path, "w");
		assert_non_null(file);
		(void)fputs(item->what + 1, file);
		assert_int_equal(fclose(file), 0);
		if (*item->what == 'e')
			mark(path, "user.overlay.whiteout", "");
	}
}

static int open_one(const char *name)
{
	char path[128];

	(void)snprintf(path, sizeof path, "%s/%s", place, name);
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void open_all(struct diff *diff)
{
	*diff = (struct diff){.source = open_one("source"), .hidden = open_one("hidden")};
	for (int i = 2; i >= 0; i--)
		if ((diff->layers[diff->layer_count] =
		             open_one((const char[]){(char)('0' + i), '\0'})) >= 0)
			diff->layer_count++;
}

static void close_all(struct diff *diff)
{
	while (diff->layer_count > 0)
		fd_close(diff->layers[--diff->layer_count]);
	fd_close(diff->hidden);
	fd_close(diff->source);
	free(diff->changes);
}

/* Layers are "2" to "0", those that are there; each change is "A", "D", "M" or "R" with its path
 * and, but for "D", its layer. */
static void put_changes(struct diff *diff, char *text, size_t size)
{
	FILE *to = fmemopen(text, size, "w");

	for (size_t i = 0; i < diff->count; i++) {
		const struct change *change = &diff->changes[i];

		if (change->from)
			(void)fprintf(to, "R %u %s => ", change->similarity, change->from);
		else
			(void)fprintf(to, "%c ",
			              !change->old.mode  ? 'A'
			              : change->new.mode ? 'M'
			                                 : 'D');
		(void)fputs(change->path, to);
		(void)(change->new.mode
		               ? fprintf(to, " %zu\n", diff->layer_count - 1 - change->layer)
		               : fputc('\n', to));
		free(change->from);
		free(change->path);
	}
	assert_int_equal(fclose(to), 0);
}

static void assert_found(const struct item *items, bool with_renames, const char *expected)
{
	char text[1024] = "", notes[1024] = "";
	struct diff diff;

	for (; items->path; items++)
		make(items);
	open_all(&diff);
	diff.notes = fmemopen(notes, sizeof notes, "w");
	assert_int_equal(walk(&diff), 0);
	if (with_renames)
		assert_int_equal(rename_find(&diff), 0);
	put_changes(&diff, text, sizeof text);
	assert_int_equal(fclose(diff.notes), 0);
	close_all(&diff);
	assert_string_equal(text, expected);
	assert_string_equal(notes, "");
}

static void assert_changes(const struct item *items, const char *expected)
{
	assert_found(items, false, expected);
}

TEST_WITH(the_topmost_layer_that_has_a_name_wins, make_place, remove_place)
{
	static const struct item items[] = {{"source", "d"},
	                                    {"source/both", "=1"},
	                                    {"source/same", "=1"},
	                                    {"source/back", "=1"},
	                                    {"source/gone", "=1"},
	                                    {"0", "d"},
	                                    {"0/both", "=22"},
	                                    {"0/same", "=2"},
	                                    {"0/back", "=2"},
	                                    {"0/low", "=2"},
	                                    {"1", "d"},
	                                    {"1/both", "=33"},
	                                    {"1/same", "=1"},
	                                    {"1/back", "w"},
	                                    {"1/middle", "=3"},
	                                    {"2", "d"},
	                                    {"2/both", "=44"},
	                                    {"2/back", "=1"},
	                                    {"2/gone", "w"},
	                                    {"2/top", "=4"},
	                                    {"2/low", "w"},
	                                    {"2/middle", "w"},
	                                    {NULL, NULL}};

	assert_changes(items, "M both 2\nD gone\nA top 2\n");
}

TEST_WITH(a_whiteout_hides_what_is_below_until_something_is_made_anew, make_place, remove_place)
{
	static const struct item items[] = {
		{"source", "d"},  {"source/dir", "d"}, {"source/dir/old", "=1"}, {"source/a", "=1"},
		{"0", "d"},       {"0/dir", "d"},      {"0/dir/low", "="},       {"0/new", "d"},
		{"0/new/x", "="}, {"1", "d"},          {"1/dir", "w"},           {"1/new", "w"},
		{"1/a", "w"},     {"2", "d"},          {"2/dir", "o"},           {"2/dir/new", "="},
		{"2/a", "="},     {NULL, NULL}};

	assert_changes(items, "M a 2\nA dir/new 2\nD dir/old\n");
}

TEST_WITH(an_opaque_directory_hides_that_of_all_layers_below_and_of_the_source, make_place,
          remove_place)
{
	static const struct item items[] = {
		{"source", "d"},          {"source/dir", "d"},        {"source/dir/old", "=1"},
		{"source/dir/deep", "d"}, {"source/dir/deep/x", "="}, {"0", "d"},
		{"0/dir", "d"},           {"0/dir/low", "="},         {"1", "d"},
		{"1/dir", "o"},           {"1/dir/mid", "="},         {"2", "d"},
		{"2/dir", "d"},           {"2/dir/top", "="},         {NULL, NULL}};

	assert_changes(items, "D dir/deep\nD dir/deep/x\nA dir/mid 1\nD dir/old\nA dir/top 2\n");
}

TEST_WITH(what_is_no_directory_hides_those_below_it, make_place, remove_place)
{
	static const struct item items[] = {
		{"source", "d"},      {"source/dir", "d"},      {"source/dir/old", "="},
		{"source/link", "d"}, {"source/link/old", "="}, {"0", "d"},
		{"0/dir", "="},       {"0/link", "l"},          {"1", "d"},
		{"1/dir", "d"},       {"1/dir/new", "="},       {"1/link", "d"},
		{NULL, NULL}};

	assert_changes(items, "A dir/new 1\nD dir/old\nD link/old\n");
}

TEST_WITH(an_opaque_mark_of_the_top_hides_nothing, make_place, remove_place)
{
	static const struct item items[] = {{"source", "d"}, {"source/old", "="}, {"0", "d"},
	                                    {"0/low", "="},  {"1", "o"},          {NULL, NULL}};

	assert_changes(items, "A low 0\n");
}

TEST_WITH(whiteouts_that_are_files_count_where_their_directory_says_so, make_place, remove_place)
{
	static const struct item items[] = {
		{"source", "d"},      {"source/a", "d"}, {"source/a/f", "=1"}, {"source/b", "d"},
		{"source/b/f", "=1"}, {"0", "d"},        {"0/a", "x"},         {"0/a/f", "e"},
		{"0/b", "d"},         {"0/b/f", "e"},    {"1", "d"},           {"1/a", "d"},
		{NULL, NULL}};

	assert_changes(items, "D a/f\nM b/f 0\n");
}

TEST_WITH(what_was_hidden_from_the_beginning_did_not_go, make_place, remove_place)
{
	static const struct item items[] = {{"source", "d"},
	                                    {"source/.env", "=1"},
	                                    {"source/keys", "d"},
	                                    {"source/keys/a", "="},
	                                    {"source/keys/b", "d"},
	                                    {"source/keys/b/c", "="},
	                                    {"source/keys/same", "=1"},
	                                    {"source/again", "="},
	                                    {"source/dir", "d"},
	                                    {"source/dir/.env", "="},
	                                    {"source/dir/x", "="},
	                                    {"hidden", "d"},
	                                    {"hidden/.env", "w"},
	                                    {"hidden/keys", "w"},
	                                    {"hidden/again", "w"},
	                                    {"hidden/dir", "d"},
	                                    {"hidden/dir/.env", "w"},
	                                    {"0", "d"},
	                                    {"0/.env", "=made"},
	                                    {"0/keys", "o"},
	                                    {"0/keys/a", "=made"},
	                                    {"0/keys/new", "="},
	                                    {"0/keys/same", "=1"},
	                                    {"0/again", "w"},
	                                    {"0/dir", "o"},
	                                    {NULL, NULL}};

	assert_changes(items, "M .env 0\nD dir/x\nM keys/a 0\nA keys/new 0\n");
}

#define TEN "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"

TEST_WITH(one_that_went_and_one_that_came_with_its_content_are_one_that_was_renamed, make_place,
          remove_place)
{
	static const struct item items[] = {{"source", "d"},
	                                    {"source/a", "=same"},
	                                    {"source/b", "=" TEN},
	                                    {"source/c", "=other"},
	                                    {"source/kept", "=more"},
	                                    {"0", "d"},
	                                    {"0/a", "w"},
	                                    {"0/b", "w"},
	                                    {"0/c", "w"},
	                                    {"0/x", "=same"},
	                                    {"0/y", "=" TEN "11\n"},
	                                    {"0/z", "=others"},
	                                    {"0/copied", "=more"},
	                                    {NULL, NULL}};

	assert_found(items, true, "D c\nA copied 0\nR 100 a => x 0\nR 95 b => y 0\nA z 0\n");
}

TEST_WITH(of_several_that_are_the_same_those_with_one_name_belong_together, make_place,
          remove_place)
{
	static const struct item items[] = {{"source", "d"},
	                                    {"source/old", "d"},
	                                    {"source/old/a", "=same"},
	                                    {"source/old/b", "=same"},
	                                    {"source/old/c", "=same"},
	                                    {"0", "d"},
	                                    {"0/old", "w"},
	                                    {"0/new", "d"},
	                                    {"0/new/c", "=same"},
	                                    {"0/new/b", "=same"},
	                                    {"0/new/z", "=same"},
	                                    {"0/new/zz", "=same"},
	                                    {NULL, NULL}};

	assert_found(
		items, true,
		"A new 0\nR 100 old/b => new/b 0\nR 100 old/c => new/c 0\nR 100 old/a => new/z 0\nA new/zz 0\nD old\n");
}

TEST_WITH(of_several_that_are_similar_the_best_belong_together, make_place, remove_place)
{
	static const struct item items[] = {{"source", "d"},
	                                    {"source/a", "=" TEN "a\n"},
	                                    {"source/b", "=" TEN "b\nb2\n"},
	                                    {"0", "d"},
	                                    {"0/a", "w"},
	                                    {"0/b", "w"},
	                                    {"0/x", "=" TEN "b\nb2\nb3\n"},
	                                    {"0/y", "=" TEN "aa\n"},
	                                    {NULL, NULL}};

	assert_found(items, true, "R 96 b => x 0\nR 90 a => y 0\n");
}

TEST_WITH(a_name_may_be_taken_by_something_else, make_place, remove_place)
{
	static const struct item items[] = {
		{"source", "d"}, {"source/a", "=same"}, {"source/l", "l"},
		{"0", "d"},      {"0/a", "l"},          {"0/x", "=same"},
		{"0/l", "d"},    {"0/l/in", "l"},       {NULL, NULL}};

	assert_found(items, true, "R 100 l => a 0\nA l 0\nA l/in 0\nR 100 a => x 0\n");
}

TEST_WITH(what_is_opened_lies_below_its_directory, make_place, remove_place)
{
	static const struct item items[] = {{"source", "d"},
	                                    {"source/dir", "d"},
	                                    {"source/dir/file", "=x"},
	                                    {"source/l", "l"},
	                                    {"file", "=x"}};
	static const struct {
		const char *path;
		int result; /* 0: it is opened */
	} cases[] = {{"dir/file", 0},        {"", 0},
	             {"l", -ELOOP},          {"l/passwd", -ELOOP},
	             {"../file", -EXDEV},    {"dir/../../file", -EXDEV},
	             {"/etc/passwd", -EXDEV}};
	int directory;

	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		make(&items[i]);
	directory = open_one("source");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int fd = read_open(directory, cases[i].path, O_RDONLY);

		assert_int_equal(fd < 0 ? fd : 0, cases[i].result);
		fd_close(fd);
	}
	fd_close(directory);
}

int main(void)
{
	if (git_libgit2_init() < 0)
		return 1;
	return testing_run("tests", NULL, NULL);
}
