/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code and files as commands: each command is run by the host's shell, in a directory of the test's
 * own.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "agent/runner/bundle.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

static char directory[] = "/tmp/test_parcel.XXXXXX";

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	return folder_remove(directory);
}

static void run(char *const *argv)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)execvp(argv[0], argv);
		_exit(99);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static size_t run_all(char ***commands)
{
	size_t count = 0;

	assert_non_null(commands);
	for (; commands[count]; count++)
		run(commands[count]);
	bundle_free_lists(commands);
	return count;
}

static struct bundle parcel_of(const char *language, const char *code, const json_t *files)
{
	struct bundle bundle = {.language = language_find(language),
	                        .code = code,
	                        .files = files,
	                        .directory = directory};

	bundle_look(&bundle);
	return bundle;
}

static void assert_file(const char *name, const char *content, size_t length)
{
	char path[200], *text = malloc(length + 1);
	FILE *file;

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	file = fopen(path, "r");
	if (!file)
		fail_msg("%s: %m", path);
	assert_int_equal(fread(text, 1, length + 1, file), length);
	assert_memory_equal(text, content, length);
	fclose(file);
	free(text);
}

static void assert_list(char **list, const char *expected)
{
	char text[1024] = "";

	assert_non_null(list);
	for (char **at = list; *at; at++) {
		strcat(text, *at);
		strcat(text, at[1] ? " " : "");
	}
	assert_string_equal(text, expected);
	bundle_free_list(list);
}

TEST(files_are_written_whatever_is_in_them_and_the_program_is_run_in_their_directory)
{
	static const char odd[] = "%s -n \"$1\" `id` \\n\t'\xc3\xa9' \x01\x7f",
			  *const program[] = {"sh", "-c", "pwd >where", NULL};
	json_t *files = json_pack("{s:s, s:s, s:s}", "a b/$x/-n", odd, "empty", "", "--", "-e");
	struct bundle bundle = parcel_of("python", "print('%d')\n", files);
	char where[64];

	assert_int_equal(bundle_check(&bundle, NULL), 0);
	assert_int_equal(run_all(bundle_commands(&bundle, (char *const *)program)), 1);
	assert_file("main.py", "print('%d')\n", 12);
	assert_file("a b/$x/-n", odd, strlen(odd));
	assert_file("empty", "", 0);
	assert_file("--", "-e", 2);
	(void)snprintf(where, sizeof where, "%s\n", directory);
	assert_file("where", where, strlen(where));
	json_decref(files);
}

TEST(what_is_too_much_for_one_command_goes_ahead_in_others)
{
	size_t length = 5 << 20;
	char *big = malloc(length + 1);
	static const char *const program[] = {"true", NULL};
	struct bundle bundle;
	json_t *files;

	for (size_t i = 0; i < length; i++)
		big[i] = (char)('a' + i % 23);
	big[length] = '\0';
	files = json_pack("{s:s}", "big", big);
	bundle = parcel_of("lua", NULL, files);
	assert_int_equal(bundle_check(&bundle, NULL), 0);
	assert_in_range(run_all(bundle_commands(&bundle, (char *const *)program)), 5, 7);
	assert_file("big", big, length);
	json_decref(files);
	free(big);
}

TEST(a_directory_of_its_own_is_made)
{
	char own[64];
	struct bundle bundle = parcel_of("bash", "x", NULL);

	(void)snprintf(own, sizeof own, "%s/run-1", directory);
	bundle.directory = own;
	bundle.makes_directory = true;
	assert_int_equal(run_all(bundle_commands(&bundle, NULL)), 1);
	assert_file("run-1/main.sh", "x", 1);
}

TEST(arguments_stand_for_what_the_table_says)
{
	json_t *files = json_pack("{s:s, s:s, s:s}", "a.c", "", "b.h", "", "d/c.c", ""),
	       *args = json_pack("[s, s]", "%f", "a b");
	struct bundle bundle = parcel_of("c", "x", files);

	bundle.args = args;
	assert_list(bundle_compile(&bundle),
	            "gcc -std=gnu17 -g -O1 -Wall -pthread -o ./main main.c a.c d/c.c -lm");
	assert_list(bundle_run(&bundle), "./main %f a b");
	bundle.cwd = "/usr";
	bundle.directory = "/tmp/x";
	assert_list(bundle_run(&bundle), "/tmp/x/main %f a b");
	bundle.interpreter = "tcc";
	assert_list(bundle_compile(&bundle),
	            "tcc -std=gnu17 -g -O1 -Wall -pthread -o ./main main.c a.c d/c.c -lm");
	assert_list(bundle_run(&bundle), "/tmp/x/main %f a b");
	bundle = parcel_of("python", "x", NULL);
	bundle.interpreter = "/opt/python";
	assert_list(bundle_run(&bundle), "/opt/python -uB main.py");
	json_decref(files);
	json_decref(args);
}

TEST(the_code_decides_what_its_file_is_called)
{
	static const struct {
		const char *language, *code, *file, *main_class;
	} cases[] = {
		{"python", "x", "main.py", ""},
		{"javascript", "const x = require('fs')", "main.js", ""},
		{"javascript", "import x from 'fs'", "main.mjs", ""},
		{"javascript", "export const x = 1", "main.mjs", ""},
		{"javascript", "// import x from 'y'\nimport('fs')\n`\nimport x from 'y'`",
	         "main.js", ""},
		{"java", "public class A { public static void main(String[] a) {} }", "A.java",
	         "A"},
		{"java",
	         "class A { class Inner { void main() {} } } final class B { static void main(String[] a) {} }",
	         "Main.java", "B"},
		{"java",
	         "package a . b; // public class C\npublic final class D { String s = \"public class E {\"; void main() {} }",
	         "D.java", "a.b.D"},
		{"java",
	         "interface I {} public enum F { X; public static void main(String[] a) {} }",
	         "F.java", "F"},
		{"java", "", "Main.java", "Main"},
		{"java", "}}}} class class class void main package", "Main.java", "Main"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct bundle bundle = parcel_of(cases[i].language, cases[i].code, NULL);

		assert_string_equal(bundle.file, cases[i].file);
		assert_string_equal(bundle.main_class, cases[i].main_class);
	}
	assert_string_equal(parcel_of("php", "echo 1;", NULL).prefix, "<?php ");
	assert_string_equal(parcel_of("php", "<b><?= 1 ?></b>", NULL).prefix, "");
}

TEST(names_that_lead_elsewhere_or_meet_are_refused)
{
	static const char *const names[] = {"",        "/a",        "a/",   "a//b",   ".",
	                                    "..",      "../a",      "a/..", "a/../b", "./a",
	                                    "main.py", "main.py/a", "x/y"};
	struct yett_error error;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		json_t *files = json_pack("{s:s, s:s}", names[i], "", "x", "");
		struct bundle bundle = parcel_of("python", "x", files);

		assert_int_equal(bundle_check(&bundle, &error), YETT_E_INVALID_REQUEST);
		assert_memory_equal(error.message, "files: ", 7);
		json_decref(files);
	}
	assert_int_equal(
		bundle_check(&(struct bundle){.language = languages, .code = "", .file = "main.py"},
	                     &error),
		YETT_E_INVALID_REQUEST);
}

TEST_MAIN(make_directory, remove_directory)
