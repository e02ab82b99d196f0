/* Enrolled keys: only the very line that stands for a key enrolls it, and only in the administrator's files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <stdio.h>
#include <sys/stat.h>

#include "helper/monitor/keys.h"

#define KEY_OF(c)  c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c "A="
#define OTHER      "ed25519 " KEY_OF("/") "\n"

static const uint8_t zero[ENVELOPE_KEY_SIZE];

static bool has(const char *text)
{
	return keys_in_text(text, strlen(text), zero);
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
		"ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", /* cut off */
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		(void)snprintf(text, sizeof text, "# one\n" OTHER "%s\n", lines[i]);
		if (has(text) || has(lines[i]))
			fail_msg("'%s' passed for the key", lines[i]);
	}
	assert_false(keys_in_text("ed25519 \0" KEY_OF("A"), sizeof "ed25519 \0" KEY_OF("A") - 1, zero));
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
	assert_int_equal(keys_find("/no/such/directory", zero, principal, &error), -ENOENT);
	assert_non_null(mkdtemp(directory));
	put(directory, "other.pub", OTHER, 0644);
	put(directory, "notes", "ed25519 " KEY_OF("A") "\n", 0644);
	put(directory, "UPPER.pub", "ed25519 " KEY_OF("A") "\n", 0644);
	put(directory, ".pub", "ed25519 " KEY_OF("A") "\n", 0644);
	put(directory, "open.pub", "ed25519 " KEY_OF("A") "\n", 0664);
	assert_int_equal(keys_find(directory, zero, principal, &error), -ENOENT);
	put(directory, "laptop.pub", "ed25519 " KEY_OF("A") "\n", 0644);
	assert_int_equal(keys_find(directory, zero, principal, &error), 0);
	assert_string_equal(principal, "laptop");
	put(directory, "desktop.pub", OTHER "ed25519 " KEY_OF("A") " again\n", 0644);
	assert_int_equal(keys_find(directory, zero, principal, &error), YETT_E_BAD_SIGNATURE);
	assert_non_null(strstr(error.message, "'laptop'"));
	assert_non_null(strstr(error.message, "'desktop'"));
	put(directory, "desktop.pub", OTHER, 0644);
	assert_int_equal(keys_find(directory, zero, principal, &error), 0);
	assert_string_equal(principal, "laptop");
	assert_int_equal(chmod(directory, 0770), 0);
	assert_int_equal(keys_find(directory, zero, principal, &error), -ENOENT);
	assert_int_equal(chmod(directory, 0700), 0);
	put(directory, "laptop.pub", OTHER, 0644); /* in place: the directory stays as it was */
	assert_int_equal(keys_find(directory, zero, principal, &error), -ENOENT);
	(void)snprintf(command, sizeof command, "rm -rf '%s'", directory);
	assert_int_equal(system(command), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_of_a_key_is_found_wherever_it_stands),
		cmocka_unit_test(what_is_not_its_line_is_not_the_key),
		cmocka_unit_test(a_key_is_looked_for_in_the_files_as_they_are_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
