/* Names to hide: what is read of the administrator's list and of the user's, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#undef YETT_HIDE_DIRECTORY
#define YETT_HIDE_DIRECTORY "etc" /* below a directory of the test's own */
#include "libclient/hide_list.c"  /* NOLINT: with another place of the administrator's */

static int begin(void **state)
{
	char *folder = strdup("/tmp/yett-test-XXXXXX");

	*state = folder;
	return folder && mkdtemp(folder) && chdir(folder) == 0 && mkdir("etc", 0755) == 0 ? 0 : -1;
}

static int finish(void **state)
{
	(void)unlink("etc/own");
	(void)rmdir("etc/own");
	(void)rmdir("etc");
	(void)rmdir(*state);
	free(*state);
	return 0;
}

static void write_list(const char *text)
{
	FILE *file = fopen("etc/own", "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void a_line_is_a_name_a_comment_or_nothing(void **state)
{
	_cleanup_(memory_freep) const char *const *names = NULL;

	(void)state;
	write_list("# keys\n\n .env \t\r\n*.key\n./a b\n   # and no more\nlast");
	assert_int_equal(yett_hide_list("own", &names, NULL), 0);
	assert_string_equal(names[0], ".env");
	assert_string_equal(names[1], "*.key");
	assert_string_equal(names[2], "./a b");
	assert_string_equal(names[3], "last");
	assert_null(names[4]);
}

static void where_there_is_no_list_it_is_empty(void **state)
{
	static const char *const profiles[] = {"other", "../etc/own", ""};

	(void)state;
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

static void what_is_no_name_or_no_list_is_an_error(void **state)
{
	static const char *const lines[] = {"/etc", "../x", "a//b", "."};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		write_list(".env\n");
		write_list(lines[i]);
		expect_refused("etc/own");
	}
	assert_int_equal(unlink("etc/own"), 0);
	assert_int_equal(mkdir("etc/own", 0755), 0);
	expect_refused("etc/own is no file");
	assert_int_equal(rmdir("etc/own"), 0);
	assert_int_equal(mkfifo("etc/own", 0644), 0);
	expect_refused("etc/own is no file");
}

static void more_than_1024_names_are_refused(void **state)
{
	const char *const *names = NULL;
	char text[NAMES_MAX * 2 + 3] = "";

	(void)state;
	for (size_t i = 0; i < NAMES_MAX; i++)
		(void)memcpy(text + i * 2, "x\n", 3);
	write_list(text);
	assert_int_equal(yett_hide_list("own", &names, NULL), 0);
	assert_non_null(names[NAMES_MAX - 1]);
	assert_null(names[NAMES_MAX]);
	yett_free((void *)names);
	strcat(text, "x\n");
	write_list(text);
	expect_refused("etc/own: more than 1024 names to hide");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_line_is_a_name_a_comment_or_nothing, begin, finish),
		cmocka_unit_test_setup_teardown(where_there_is_no_list_it_is_empty, begin, finish),
		cmocka_unit_test_setup_teardown(what_is_no_name_or_no_list_is_an_error, begin, finish),
		cmocka_unit_test_setup_teardown(more_than_1024_names_are_refused, begin, finish),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
