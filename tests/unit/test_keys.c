/* Enrolled keys: only the very line that stands for a key enrolls it, and only in files of the administrator's or of the user's alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helper/monitor/keys.h"
#include "programs/decider/key_text.h"
#include "programs/reader/own_keys.h"

#define KEY_OF(c) c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c "A="
#define OTHER     "ed25519 " KEY_OF("/") "\n"

static const uint8_t zero[ENVELOPE_KEY_SIZE];

static char line_of_zero[KEY_LINE_LENGTH + 1];

static int make_line(void **state)
{
	(void)state;
	key_text(zero, line_of_zero);
	return strcmp(line_of_zero, "ed25519 " KEY_OF("A"));
}

static bool has(const char *text)
{
	return key_line_is_in(text, strlen(text), line_of_zero);
}

static void the_line_of_a_key_is_found_wherever_it_stands(void **state)
{
	(void)state;
	assert_true(has("ed25519 " KEY_OF("A")));
	assert_true(has("ed25519 " KEY_OF("A") "\n"));
	assert_true(has("ed25519 " KEY_OF("A") " me@home: the first\n"));
	assert_true(has("# my keys\n\n" OTHER "ed25519 " KEY_OF("A") "\n" OTHER));
	assert_true(has("nonsense\ned25519 " KEY_OF("A")));
	assert_false(has(OTHER));
	assert_false(has(""));
}

static void what_is_not_its_line_is_not_the_key(void **state)
{
	static const char *const lines[] = {
		"ed25519",
		"ed25519 ",
		"ed25519 AAAA",
		"rsa " KEY_OF("A"),
		" ed25519 " KEY_OF("A"),
		"#ed25519 " KEY_OF("A"),
		"x ed25519 " KEY_OF("A"),
		"ed25519  " KEY_OF("A"),
		"ed25519\t" KEY_OF("A"),
		"ED25519 " KEY_OF("A"),
		"ed25519 " KEY_OF("A") "=",
		"ed25519 " KEY_OF("A") "\r",
		"ed25519 " KEY_OF("-"),
		"ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=", /* a bit beyond the 32 bytes */
		"ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",  /* cut off */
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		(void)snprintf(text, sizeof text, "# one\n" OTHER "%s\n", lines[i]);
		if (has(text) || has(lines[i]))
			fail_msg("'%s' passed for the key", lines[i]);
	}
	assert_false(key_line_is_in("ed25519 \0" KEY_OF("A"), sizeof "ed25519 \0" KEY_OF("A") - 1, line_of_zero));
}

static void put(const char *directory, const char *name, const char *text, mode_t mode)
{
	char path[160];
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void a_key_is_looked_for_in_the_files_as_they_are_now(void **state)
{
	char directory[] = "/tmp/yett-keys-XXXXXX", command[64], principal[MESSAGE_NAME_MAX + 1] = "";
	struct yett_error error = {0};

	(void)state;
	assert_int_equal(keys_find("/no/such/directory", line_of_zero, principal, &error), -ENOENT);
	assert_non_null(mkdtemp(directory));
	put(directory, "other.pub", OTHER, 0644);
	put(directory, "notes", "ed25519 " KEY_OF("A") "\n", 0644);
	put(directory, "UPPER.pub", "ed25519 " KEY_OF("A") "\n", 0644);
	put(directory, ".pub", "ed25519 " KEY_OF("A") "\n", 0644);
	put(directory, "open.pub", "ed25519 " KEY_OF("A") "\n", 0664);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), -ENOENT);
	put(directory, "laptop.pub", "ed25519 " KEY_OF("A") "\n", 0644);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), 0);
	assert_string_equal(principal, "laptop");
	put(directory, "desktop.pub", OTHER "ed25519 " KEY_OF("A") " again\n", 0644);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), YETT_E_BAD_SIGNATURE);
	assert_non_null(strstr(error.message, "'laptop'"));
	assert_non_null(strstr(error.message, "'desktop'"));
	put(directory, "desktop.pub", OTHER, 0644);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), 0);
	assert_string_equal(principal, "laptop");
	assert_int_equal(chmod(directory, 0770), 0);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), -ENOENT);
	assert_int_equal(chmod(directory, 0700), 0);
	put(directory, "laptop.pub", OTHER, 0644); /* in place: the directory stays as it was */
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), -ENOENT);
	(void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
	assert_int_equal(system(command), 0);
}

static void names_of_keys_are_those_that_a_grant_can_list(void **state)
{
	char directory[] = "/tmp/yett-keys-XXXXXX", command[64], principal[MESSAGE_NAME_MAX + 1] = "", name[MESSAGE_NAME_MAX + 6];
	struct yett_error error = {0};

	(void)state;
	assert_non_null(mkdtemp(directory));
	memset(name, 'n', sizeof name);
	strcpy(name + MESSAGE_NAME_MAX + 1, ".pub"); /* one letter too many */
	put(directory, name, "ed25519 " KEY_OF("A") "\n", 0644);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), -ENOENT);
	strcpy(name + MESSAGE_NAME_MAX, ".pub");
	put(directory, name, "ed25519 " KEY_OF("A") "\n", 0644);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), 0);
	assert_int_equal(strlen(principal), MESSAGE_NAME_MAX);
	(void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
	assert_int_equal(system(command), 0);
}

/* A home with the folder, and authorized_keys in it where there is a text. */
static void make_home(char *home, char folder[128], const char *text)
{
	assert_non_null(mkdtemp(home));
	(void)snprintf(folder, 128, "%s/.config", home);
	assert_int_equal(mkdir(folder, 0700), 0);
	(void)snprintf(folder, 128, "%s/.config/yett", home);
	assert_int_equal(mkdir(folder, 0700), 0);
	if (text)
		put(folder, "authorized_keys", text, 0644);
}

static void remove_home(const char *home)
{
	char command[64];

	(void)snprintf(command, sizeof command, "rm -rf '%s'", home);
	assert_int_equal(system(command), 0);
}

static void find_own(const char *home, int code, bool is_first, const char *message)
{
	struct yett_error error = {0};
	bool first = !is_first;

	assert_int_equal(own_keys_find(home, getuid(), line_of_zero, &first, &error), code);
	assert_int_equal(first, is_first);
	if (message && !strstr(error.message, message))
		fail_msg("'%s' instead of '%s'", error.message, message);
}

static void a_user_s_own_key_is_looked_for_as_the_file_is_now(void **state)
{
	char home[] = "/tmp/yett-home-XXXXXX", folder[128];

	(void)state;
	make_home(home, folder, NULL);
	find_own(home, 0, true, NULL);
	put(folder, "authorized_keys", "", 0644);
	find_own(home, 0, true, NULL);
	put(folder, "authorized_keys", OTHER, 0644);
	find_own(home, YETT_E_BAD_SIGNATURE, false, "not enrolled");
	put(folder, "authorized_keys", OTHER "ed25519 " KEY_OF("A") " mine\n", 0644);
	find_own(home, 0, false, NULL);
	find_own("", 0, true, NULL);
	find_own("relative", 0, true, NULL);
	find_own("/no/such/home", 0, true, NULL);
	remove_home(home);
}

static void a_user_s_file_that_others_can_write_or_that_is_none_does_not_count(void **state)
{
	char home[] = "/tmp/yett-home-XXXXXX", folder[128], path[160], long_text[16400];

	(void)state;
	make_home(home, folder, "ed25519 " KEY_OF("A") "\n");
	(void)snprintf(path, sizeof path, "%s/authorized_keys", folder);
	assert_int_equal(chmod(path, 0664), 0);
	find_own(home, YETT_E_BAD_SIGNATURE, false, "others can write");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(chmod(folder, 0770), 0);
	find_own(home, YETT_E_BAD_SIGNATURE, false, "others can write");
	assert_int_equal(chmod(folder, 0700), 0);
	find_own(home, 0, false, NULL);
	memset(long_text, '#', sizeof long_text - 1);
	long_text[sizeof long_text - 1] = '\0';
	put(folder, "authorized_keys", long_text, 0644);
	find_own(home, YETT_E_BAD_SIGNATURE, false, "larger than 16 KiB");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	find_own(home, YETT_E_BAD_SIGNATURE, false, "not a regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("other", path), 0);
	find_own(home, YETT_E_BAD_SIGNATURE, false, "cannot be opened");
	remove_home(home);
}

static void what_somebody_else_owns_enrolls_nobody(void **state)
{
	char directory[] = "/tmp/yett-keys-XXXXXX", home[] = "/tmp/yett-home-XXXXXX", folder[128], path[160],
	     principal[MESSAGE_NAME_MAX + 1] = "";
	struct yett_error error = {0};

	(void)state;
	if (geteuid() != 0) {
		print_message("not root: nothing of somebody else's can be made\n");
		return;
	}
	assert_non_null(mkdtemp(directory));
	put(directory, "laptop.pub", "ed25519 " KEY_OF("A") "\n", 0644);
	assert_int_equal(chown(directory, 12345, 0), 0);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), -ENOENT);
	assert_int_equal(chown(directory, 0, 0), 0);
	(void)snprintf(path, sizeof path, "%s/laptop.pub", directory);
	assert_int_equal(chown(path, 12345, 0), 0);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), -ENOENT);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(keys_find(directory, line_of_zero, principal, &error), 0);
	remove_home(directory);
	make_home(home, folder, "ed25519 " KEY_OF("A") "\n");
	(void)snprintf(path, sizeof path, "%s/authorized_keys", folder);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(chown(i ? path : folder, 12345, 0), 0);
		find_own(home, YETT_E_BAD_SIGNATURE, false, "belongs to somebody else");
		assert_int_equal(chown(i ? path : folder, 0, 0), 0);
	}
	find_own(home, 0, false, NULL);
	remove_home(home);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_of_a_key_is_found_wherever_it_stands),
		cmocka_unit_test(what_is_not_its_line_is_not_the_key),
		cmocka_unit_test(a_key_is_looked_for_in_the_files_as_they_are_now),
		cmocka_unit_test(names_of_keys_are_those_that_a_grant_can_list),
		cmocka_unit_test(what_somebody_else_owns_enrolls_nobody),
		cmocka_unit_test(a_user_s_own_key_is_looked_for_as_the_file_is_now),
		cmocka_unit_test(a_user_s_file_that_others_can_write_or_that_is_none_does_not_count),
	};

	return cmocka_run_group_tests(tests, make_line, NULL);
}
