/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of names: what is read of the administrator's and of the user's, and what is none. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#undef YETT_SETTINGS_DIRECTORY
#define YETT_SETTINGS_DIRECTORY "etc" /* below a directory of the test's own */
#include "base/name_list.c"           /* NOLINT: with another place of the administrator's */
#include "libclient/guard.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"
#include "workspace/yett-workspace.h"

static int begin(void **state)
{
	char *folder = strdup("/tmp/yett-test-XXXXXX");

	*state = folder;
	return folder && mkdtemp(folder) && chdir(folder) == 0 && mkdir("etc", 0755) == 0 &&
	                       mkdir("etc/hide.d", 0755) == 0
	               ? 0
	               : -1;
}

static int finish(void **state)
{
	(void)unlink("etc/hide.d/own");
	(void)rmdir("etc/hide.d/own");
	(void)rmdir("etc/hide.d");
	(void)unlink("etc/protect");
	(void)unlink("etc/secret");
	(void)unlink("etc/guard");
	(void)rmdir("etc");
	(void)rmdir(*state);
	free(*state);
	return 0;
}

static void write_list(const char *text)
{
	folder_write("etc/hide.d/own", text, 0600);
}

TEST_WITH(a_line_is_a_name_a_comment_or_nothing, begin, finish)
{
	_cleanup_(memory_freep) const char *const *names = NULL;

	write_list("# keys\n\n .env \t\r\n*.key\n./a b\n   # and no more\nlast");
	assert_int_equal(yett_hide_list("own", &names, NULL), 0);
	assert_string_equal(names[0], ".env");
	assert_string_equal(names[1], "*.key");
	assert_string_equal(names[2], "./a b");
	assert_string_equal(names[3], "last");
	assert_null(names[4]);
}

TEST_WITH(where_there_is_no_list_it_is_empty, begin, finish)
{
	static const char *const profiles[] = {"other", "../hide.d/own", ""};

	write_list("x\n");
	for (size_t i = 0; i < ARRAY_SIZE(profiles); i++) {
		_cleanup_(memory_freep) const char *const *names = NULL;

		assert_int_equal(yett_hide_list(profiles[i], &names, NULL), 0);
		assert_null(names[0]);
	}
}

static void expect_refused(const char *message)
{
	const char *const *names = NULL;
	struct yett_error error = {0};

	assert_int_not_equal(yett_hide_list("own", &names, &error), 0);
	assert_null(names);
	if (!strstr(error.message, message))
		fail_msg("%s: %s", message, error.message);
}

TEST_WITH(what_is_no_name_or_no_list_is_an_error, begin, finish)
{
	static const char *const lines[] = {"/etc", "../x", "a//b", "."};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		write_list(".env\n");
		write_list(lines[i]);
		expect_refused("etc/hide.d/own");
	}
	assert_int_equal(unlink("etc/hide.d/own"), 0);
	assert_int_equal(mkdir("etc/hide.d/own", 0755), 0);
	expect_refused("etc/hide.d/own is not a file");
	assert_int_equal(rmdir("etc/hide.d/own"), 0);
	assert_int_equal(mkfifo("etc/hide.d/own", 0644), 0);
	expect_refused("etc/hide.d/own is not a file");
}

TEST_WITH(more_than_1024_names_are_refused, begin, finish)
{
	const char *const *names = NULL;
	char text[NAME_LIST_MAX * 2 + 3] = "";

	for (size_t i = 0; i < NAME_LIST_MAX; i++)
		(void)memcpy(text + i * 2, "x\n", 3);
	write_list(text);
	assert_int_equal(yett_hide_list("own", &names, NULL), 0);
	assert_non_null(names[NAME_LIST_MAX - 1]);
	assert_null(names[NAME_LIST_MAX]);
	yett_workspace_free((void *)names);
	strcat(text, "x\n");
	write_list(text);
	expect_refused("etc/hide.d/own: more than 1024 names");
}

TEST_WITH(what_is_protected_is_as_yett_apply_knows_it, begin, finish)
{
	static const char *const names[] = {"Makefile", "*.key", "secret*", ".config/own/x/y*",
	                                    "...a"};
	static const char *const none[] = {"/x",  "a//b", "a/",       "..",        "a/../b",
	                                   "./a", "a*b",  "a?",       "[a]",       "a\\b",
	                                   "*",   "a b",  "\xc3\xa9", "a/b/c/d/e", "a\x01"};
	_cleanup_(memory_freep) const char *const *found = NULL;

	folder_write("etc/protect", "# own\nMakefile\n*.key\nsecret*\n.config/own/x/y*\n...a\n",
	             0600);
	assert_int_equal(yett_protect_list(&found, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(found[i], names[i]);
	assert_null(found[ARRAY_SIZE(names)]);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		struct yett_error error = {0};
		const char *const *unused = NULL;

		folder_write("etc/protect", none[i], 0600);
		if (yett_protect_list(&unused, &error) != YETT_E_INVALID_REQUEST ||
		    !strstr(error.message, "etc/protect: "))
			fail_msg("%s: %s", none[i], error.message);
	}
}

/* Only the list of read-only paths takes a line that begins with "./". */
TEST_WITH(lists_of_guarded_paths_hold_paths, begin, finish)
{
	static const struct {
		const char *line;
		bool is_secret, is_guard;
	} cases[] = {
		{".config/own", true, true},  {"/srv/keys", true, true}, {"...a", true, true},
		{"a b/\xc3\xa9", true, true}, {"~/.ssh", true, true},    {"./.own/x", false, true},
		{"./..", false, false},       {"./", false, false},      {".", false, false},
		{"..", false, false},         {"a/../b", false, false},  {"/", false, false},
		{"//a", false, false},        {"a//b", false, false},    {"a/", false, false},
		{"././a", false, false},      {"a\x01", false, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int is_guard = 0; is_guard < 2; is_guard++) {
			_cleanup_(memory_freep) const char *const *hidden = NULL,
								  *const *read_only = NULL;
			bool is_sound = is_guard ? cases[i].is_guard : cases[i].is_secret;
			struct yett_error error = {0};
			int r;

			folder_write(is_guard ? "etc/guard" : "etc/secret", cases[i].line, 0600);
			r = guard_read_lists(&hidden, &read_only, &error);
			if (r != (is_sound ? 0 : YETT_E_INVALID_REQUEST) ||
			    (!is_sound &&
			     !strstr(error.message, is_guard ? "etc/guard: " : "etc/secret: ")))
				fail_msg("%s: %d, %s", cases[i].line, r, error.message);
			if (is_sound)
				assert_string_equal((is_guard ? read_only : hidden)[0],
				                    cases[i].line);
			folder_write(is_guard ? "etc/guard" : "etc/secret", "# none\n", 0600);
		}
}

TEST_MAIN(NULL, NULL)
