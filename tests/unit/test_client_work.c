/* SPDX-License-Identifier: Apache-2.0 */
/* Stores: which names a glob is of, and texts of "info". */
#include <string.h>

#include "base/fd.h"
#include "base/lines.h"
#include "tests/support/testing.h"
#include "workspace/store/work.h"
#include "workspace/store/work_glob.h"

static bool matches(const char *glob, const char *path)
{
	_cleanup_(work_globs_free) struct work_globs globs;
	const char *const texts[] = {glob, NULL};

	assert_int_equal(work_globs_read("--hide", texts, &globs, NULL), 0);
	return work_globs_match(&globs, path);
}

TEST(a_glob_is_of_what_gitignore_says)
{
	static const struct {
		const char *glob, *path;
		bool matches;
	} rows[] = {
		{".env", ".env", true},
		{".env", "a/b/.env", true},
		{".env", "a/.env/b", false}, /* which is in it, and so never asked for */
		{".env", ".env.local", false},
		{"./.env", ".env", true},
		{"./.env", "a/.env", false},
		{".env*", "a/.env.local", true},
		{"*", ".hidden", true},
		{"*.key", "a/b.key", true},
		{"a/", "b/a", true},
		{"./a/", "b/a", false},
		{"a/b", "a/b", true},
		{"a/b", "c/a/b", false},
		{"a/*", "a/b", true},
		{"a/*", "a/b/c", false},
		{"a/**", "a", false},
		{"a/**", "a/b/c", true},
		{"**/b", "b", true},
		{"**/b", "a/c/b", true},
		{"**/b", "a/bb", false},
		{"a/**/b", "a/b", true},
		{"a/**/b", "a/c/d/b", true},
		{"a/**/b", "b", false},
		{"**/a/**/b", "c/a/a/d/b", true},
		{"**/a/b/**/c", "a/a/b/x/c", true},
		{"**/a/b/**/c", "a/x/b/x/c", false},
		{"**/a*/b", "ax/ay/b", true},
		{"[ab]/?", "b/c", true},
		{"[!ab]/?", "b/c", false},
		{"a\\*b", "a*b", true},
		{"a\\*b", "axb", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (matches(rows[i].glob, rows[i].path) != rows[i].matches)
			fail_msg("%s of %s", rows[i].glob, rows[i].path);
	(void)state;
}

TEST(many_stars_take_no_time_that_grows_without_bound)
{
	char path[2048] = "";

	for (size_t i = 0; i < 500; i++)
		(void)strcat(path, i ? "/a" : "a");
	assert_false(matches("**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/a/**/b", path));
	(void)state;
}

TEST(names_are_found_among_many)
{
	_cleanup_(work_globs_free) struct work_globs globs;
	const char *const texts[] = {"zz", "*.c", "b", "./a", "m/n", "a\\?", "y", NULL};

	assert_int_equal(work_globs_read("--hide", texts, &globs, NULL), 0);
	assert_int_equal(globs.count, 7);
	assert_int_equal(globs.names_count, 3);
	for (size_t i = 0; texts[i]; i++)
		assert_true(work_globs_match(&globs, strcmp(texts[i], "a\\?") == 0 ? "x/a?"
		                                     : texts[i][0] == '.'          ? "a"
		                                                                   : texts[i]));
	assert_false(work_globs_match(&globs, "x/a"));
	assert_false(work_globs_match(&globs, "n"));
	(void)state;
}

TEST(what_leads_elsewhere_is_no_glob)
{
	static const char *const rows[] = {"",     "/",     "/etc", ".",   "..", "a/..",
	                                   "../a", "a/./b", "a//b", "a//", "./", "././a"};
	struct yett_error error;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_(work_globs_free) struct work_globs globs;
		const char *const texts[] = {rows[i], NULL};

		if (work_globs_read("--hide", texts, &globs, &error) != YETT_E_INVALID_REQUEST)
			fail_msg("%s is taken", rows[i]);
		assert_non_null(strstr(error.message, "--hide "));
	}
	(void)state;
}

TEST(a_text_is_read_as_it_was_written)
{
	static const char *const rows[] = {
		"/plain", "/a b", "/ b%s%%", " ", "%", "/new\nline\t\x01\xff", "/\xc3\xa9"};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *text = NULL;
		size_t length;
		FILE *file = open_memstream(&text, &length);

		lines_write_text(file, "key", rows[i]);
		assert_int_equal(fclose(file), 0);
		assert_ptr_equal(strchr(text, '\n'), text + length - 1);
		text[length - 1] = '\0';
		assert_true(lines_read_text(text + strlen("key=")));
		assert_string_equal(text + strlen("key="), rows[i]);
		free(text);
	}
	(void)state;
}

TEST(a_text_that_we_do_not_write_is_refused)
{
	static const char *const rows[] = {"%", "%2", "%zz", "%00", "a%2G", "%%"};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[16];

		(void)strcpy(text, rows[i]);
		assert_false(lines_read_text(text));
	}
	(void)state;
}

TEST_MAIN(NULL, NULL)
