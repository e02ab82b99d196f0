/* SPDX-License-Identifier: Apache-2.0 */
/* Which helper the library would execute, and how. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libclient/workspace.h"
#include "libclient/yett.h"
#include "tests/support/testing.h"

static char directory[64], helper[128], record[128];

static int make_helper(void **state)
{
	FILE *file;

	(void)state;
	(void)unsetenv("YETT_HELPER");
	(void)unsetenv("YETT_SOCKET");
	(void)strcpy(directory, "/tmp/yett-start-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(helper, sizeof helper, "%s/yett-helper", directory);
	(void)snprintf(record, sizeof record, "%s/record", directory);
	file = fopen(helper, "w");
	if (!file)
		return -1;
	(void)fprintf(file, "#!/bin/sh\n{ echo \"$@\"; env; ls /proc/self/fd; } >%s\n", record);
	return fclose(file) == 0 ? chmod(helper, 0755) : -1;
}

static int remove_helper(void **state)
{
	(void)state;
	(void)unlink(helper);
	(void)unlink(record);
	return rmdir(directory);
}

static int helper_path(const char *path, struct yett_error *error)
{
	char out[PATH_MAX];

	return yett_helper_path(path, out, sizeof out, error);
}

TEST_WITH(a_helper_that_only_its_owner_can_change_is_accepted, make_helper, remove_helper)
{
	struct yett_error error = {0};

	assert_int_equal(helper_path(helper, &error), 0);
}

TEST_WITH(a_helper_that_others_could_have_changed_is_refused, make_helper, remove_helper)
{
	struct yett_error error = {0};

	assert_int_equal(chmod(helper, 0775), 0);
	assert_int_equal(helper_path(helper, &error), YETT_E_SECURITY_VIOLATION);
	assert_int_equal(chmod(helper, 0757), 0);
	assert_int_equal(helper_path(helper, &error), YETT_E_SECURITY_VIOLATION);
	assert_int_equal(chmod(helper, 0755), 0);
	assert_int_equal(chmod(directory, 0777), 0);
	assert_int_equal(helper_path(helper, &error), YETT_E_SECURITY_VIOLATION);
	assert_non_null(strstr(error.detail, "0777"));
	assert_int_equal(chmod(directory, 01777), 0);
	assert_int_equal(helper_path(helper, &error), 0);
	if (geteuid() != 0)
		return;
	assert_int_equal(chown(directory, 12345, 0), 0);
	assert_int_equal(helper_path(helper, &error), YETT_E_SECURITY_VIOLATION);
	assert_int_equal(chown(directory, 0, 0), 0);
	assert_int_equal(chown(helper, 12345, 0), 0);
	assert_int_equal(helper_path(helper, &error), YETT_E_SECURITY_VIOLATION);
}

TEST_WITH(what_is_no_helper_is_refused, make_helper, remove_helper)
{
	struct yett_error error = {0};

	assert_int_equal(helper_path("yett-helper", &error), YETT_E_INVALID_REQUEST);
	assert_int_equal(helper_path(directory, &error), YETT_E_SECURITY_VIOLATION);
	assert_int_equal(helper_path("/nonexistent/yett-helper", &error), YETT_E_NOT_FOUND);
}

TEST_WITH(a_link_is_followed_to_what_is_checked, make_helper, remove_helper)
{
	struct yett_error error = {0};
	char link[160], out[PATH_MAX];

	(void)snprintf(link, sizeof link, "%s/link", directory);
	assert_int_equal(symlink(helper, link), 0);
	assert_int_equal(yett_helper_path(link, out, sizeof out, &error), 0);
	assert_string_equal(out, helper);
	assert_int_equal(unlink(link), 0);
}

TEST_WITH(the_environment_names_a_helper_and_an_option_wins_over_it, make_helper, remove_helper)
{
	struct yett_error error = {0};
	char out[PATH_MAX];

	assert_int_equal(setenv("YETT_HELPER", helper, 1), 0);
	assert_int_equal(yett_helper_path(NULL, out, sizeof out, &error), 0);
	assert_string_equal(out, helper);
	assert_int_equal(yett_helper_path("/nonexistent", out, sizeof out, &error),
	                 YETT_E_NOT_FOUND);
	assert_int_equal(unsetenv("YETT_HELPER"), 0);
}

TEST_WITH(flags_that_are_not_known_are_refused, make_helper, remove_helper)
{
	const struct yett_connect_options options = {.size = sizeof options,
	                                             .start = YETT_START_PERSONAL,
	                                             .helper_path = helper,
	                                             .flags = YETT_CONNECT_AGENT << 1};
	struct yett_connection *connection = NULL;
	struct yett_error error = {0};

	assert_int_equal(yett_connect(&options, &connection, &error), YETT_E_UNSUPPORTED);
	assert_null(connection);
}

/* Its table lacks functions that this libyett would call. */
TEST_WITH(a_workspace_library_that_is_too_old_is_refused, make_helper, remove_helper)
{
	const struct yett_workspace old = {.size = sizeof old - sizeof(void *)};
	const struct yett_connect_options options = {.size = sizeof options,
	                                             .start = YETT_START_PERSONAL,
	                                             .helper_path = helper,
	                                             .workspace = &old};
	struct yett_connection *connection = NULL;
	struct yett_error error = {0};

	assert_int_equal(yett_connect(&options, &connection, &error), YETT_E_UNSUPPORTED);
	assert_non_null(strstr(error.message, "libyett-workspace"));
	assert_int_equal(access(record, F_OK), -1);
}

TEST_WITH(a_helper_gets_one_socket_and_an_environment_from_nothing, make_helper, remove_helper)
{
	const char *const more[] = {"--policy", "/a policy", NULL};
	const struct yett_connect_options options = {.size = sizeof options,
	                                             .start = YETT_START_PERSONAL,
	                                             .helper_path = helper,
	                                             .helper_arguments = more};
	struct yett_connection *connection = NULL;
	struct yett_error error = {0};
	char text[4096];
	FILE *file;

	assert_int_equal(setenv("YETT_SECRET", "1", 1), 0);
	assert_int_equal(setenv("HOME", "/elsewhere", 1), 0);
	/* it says nothing, so this fails, but only after it ran */
	assert_int_equal(yett_connect(&options, &connection, &error), YETT_E_HELPER_UNAVAILABLE);
	file = fopen(record, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof text - 1, file)] = '\0';
	(void)fclose(file);
	assert_int_equal(strncmp(text, "--personal --quiet --fd 3 --policy /a policy\n", 45), 0);
	assert_null(strstr(text, "YETT_SECRET"));
	assert_null(strstr(text, "HOME=/elsewhere")); /* it is of the account */
	/* 3 is the socket, and ls(1) has 4 or the directory it lists on one of its own: nothing
	 * else is there */
	assert_null(strstr(text, "\n5\n"));
}

TEST_WITH(a_helper_without_the_bit_is_not_started_as_one_that_has_it, make_helper, remove_helper)
{
	const struct yett_connect_options options = {
		.size = sizeof options, .start = YETT_START_SETUID, .helper_path = helper};
	struct yett_connection *connection = NULL;
	struct yett_error error = {0};

	assert_int_equal(yett_connect(&options, &connection, &error), YETT_E_HELPER_UNAVAILABLE);
	assert_non_null(strstr(error.message, "is no set-user-id program of root's"));
	assert_int_equal(access(record, F_OK), -1);
}

TEST_WITH(both_ways_are_named_when_neither_is_there, make_helper, remove_helper)
{
	struct yett_connect_options options = {.size = sizeof options,
	                                       .start = YETT_START_SERVICE,
	                                       .socket_path = "/nonexistent/socket"};
	struct yett_connection *connection = NULL;
	struct yett_error error = {0};

	assert_int_equal(yett_connect(&options, &connection, &error), YETT_E_HELPER_UNAVAILABLE);
	assert_non_null(strstr(error.message, "/nonexistent/socket"));
	options.start = YETT_START_ANY;
	assert_int_equal(yett_connect(&options, &connection, &error), YETT_E_HELPER_UNAVAILABLE);
	assert_non_null(strstr(error.message, "/nonexistent/socket"));
}

TEST_MAIN(NULL, NULL)
