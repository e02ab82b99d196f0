/* SPDX-License-Identifier: Apache-2.0 */
/* Enrolling a key under a name. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/admin/keys.h"
#include "libclient/yett.h"
#include "tests/support/testing.h"

static char directory[64], keys_dir[128], private_path[128], public_path[160], enrolled[192];

static int make_key(void **state)
{
	struct yett_error error = {0};

	(void)state;
	(void)strcpy(directory, "/tmp/yett-enroll-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(keys_dir, sizeof keys_dir, "%s/yett/keys.d", directory);
	(void)snprintf(private_path, sizeof private_path, "%s/id", directory);
	(void)snprintf(public_path, sizeof public_path, "%s.pub", private_path);
	(void)snprintf(enrolled, sizeof enrolled, "%s/agent-1.pub", keys_dir);
	return yett_key_generate(private_path, &error);
}

static int remove_key(void **state)
{
	(void)state;
	(void)unlink(private_path);
	(void)unlink(public_path);
	(void)unlink(enrolled);
	(void)rmdir(keys_dir);
	*strrchr(keys_dir, '/') = '\0';
	(void)rmdir(keys_dir);
	return rmdir(directory);
}

TEST_WITH(an_enrolled_key_is_the_key_and_everybody_can_read_it, make_key, remove_key)
{
	struct yett_error error = {0};
	uint8_t a[YETT_KEY_SIZE], b[YETT_KEY_SIZE];
	char line[256];
	struct stat st;
	mode_t mask = umask(077);

	assert_int_equal(keys_enroll(keys_dir, "agent-1", public_path, &error), 0);
	(void)umask(mask);
	assert_int_equal(stat(enrolled, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_int_equal(yett_key_read_public(public_path, a, line, sizeof line, &error), 0);
	assert_int_equal(yett_key_read_public(enrolled, b, line, sizeof line, &error), 0);
	assert_memory_equal(a, b, sizeof a);
}

TEST_WITH(a_taken_name_is_refused, make_key, remove_key)
{
	struct yett_error error = {0};

	assert_int_equal(keys_enroll(keys_dir, "agent-1", public_path, &error), 0);
	assert_int_equal(keys_enroll(keys_dir, "agent-1", public_path, &error),
	                 YETT_E_ALREADY_EXISTS);
}

TEST_WITH(a_second_name_for_a_key_is_refused, make_key, remove_key)
{
	struct yett_error error = {0};

	assert_int_equal(keys_enroll(keys_dir, "agent-1", public_path, &error), 0);
	assert_int_equal(keys_enroll(keys_dir, "agent-2", public_path, &error),
	                 YETT_E_ALREADY_EXISTS);
	assert_non_null(strstr(error.message, "enrolled as agent-1 already"));
	/* where one was entered by hand, too: with another comment, and not as the first line */
	FILE *file = fopen(enrolled, "r+");
	char line[256];

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof line, file));
	rewind(file);
	line[strcspn(strchr(line, ' ') + 1, " \n") + 8] = '\0';
	assert_true(fprintf(file, "# by hand\n%s of somebody\n", line) > 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(keys_enroll(keys_dir, "agent-2", public_path, &error),
	                 YETT_E_ALREADY_EXISTS);
	assert_int_equal(unlink(enrolled), 0);
	assert_int_equal(keys_enroll(keys_dir, "agent-1", public_path, &error), 0);
}

TEST_WITH(a_secret_key_is_not_enrolled, make_key, remove_key)
{
	struct yett_error error = {0};

	assert_int_equal(keys_enroll(keys_dir, "agent-1", private_path, &error),
	                 YETT_E_INVALID_REQUEST);
	assert_int_not_equal(access(enrolled, F_OK), 0);
}

TEST(names_that_could_be_paths_are_refused)
{
	static const char *const names[] = {"",   ".", "..",  "a/b", "../x", "-x",
	                                    "_x", "A", "a b", "ä",   "a\n"};
	char longest[66];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_false(keys_name_is_valid(names[i]));
	memset(longest, 'a', 65);
	longest[65] = '\0';
	assert_false(keys_name_is_valid(longest));
	longest[64] = '\0';
	assert_true(keys_name_is_valid(longest));
	assert_true(keys_name_is_valid("0.a_b-c"));
}

TEST_MAIN(NULL, NULL)
