/* SPDX-License-Identifier: Apache-2.0 */
/* Enrolled keys: only the very line that stands for a key enrolls it, and only in files of the
 * administrator's or of the user's alone. */
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "helper/monitor/keys.h"
#include "programs/decide/decider/key_text.h"
#include "programs/decide/policy/enrolled.h"
#include "programs/decide/reader/own_keys.h"
#include "tests/support/folder.h"
#include "tests/support/testing.h"

#define KEY_OF(c) \
	c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c c "A="
#define OTHER "ed25519 " KEY_OF("/") "\n"

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

TEST(the_line_of_a_key_is_found_wherever_it_stands)
{
	assert_true(has("ed25519 " KEY_OF("A")));
	assert_true(has("ed25519 " KEY_OF("A") "\n"));
	assert_true(has("ed25519 " KEY_OF("A") " me@home: the first\n"));
	assert_true(has("# my keys\n\n" OTHER "ed25519 " KEY_OF("A") "\n" OTHER));
	assert_true(has("nonsense\ned25519 " KEY_OF("A")));
	assert_false(has(OTHER));
	assert_false(has(""));
}

TEST(what_is_not_its_line_is_not_the_key)
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
		"ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB=", /* a bit beyond the 32 bytes
	                                                                 */
		"ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",  /* cut off */
	};
	char text[512];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		(void)snprintf(text, sizeof text, "# one\n" OTHER "%s\n", lines[i]);
		if (has(text) || has(lines[i]))
			fail_msg("'%s' passed for the key", lines[i]);
	}
	assert_false(key_line_is_in("ed25519 \0" KEY_OF("A"), sizeof "ed25519 \0" KEY_OF("A") - 1,
	                            line_of_zero));
}

static void put(const char *directory, const char *name, const char *text, mode_t mode)
{
	char path[160];

	(void)snprintf(path, sizeof path, "%s/%s", directory, name);
	folder_write(path, text, mode);
}

/* By a policy that has no table. */
static int find(char *directory, char principal[MESSAGE_NAME_MAX + 1], struct yett_error *error)
{
	return keys_find(&(struct policy){.keys_dir = directory}, line_of_zero, principal, error);
}

TEST(a_key_is_looked_for_in_the_files_as_they_are_now)
{
	char directory[] = "/tmp/yett-keys-XXXXXX", principal[MESSAGE_NAME_MAX + 1] = "";
	struct yett_error error = {0};

	assert_int_equal(find((char *)"/no/such/directory", principal, &error), -ENOENT);
	assert_non_null(mkdtemp(directory));
	put(directory, "other.pub", OTHER, 0644);
	put(directory, "notes", "ed25519 " KEY_OF("A") "\n", 0644);
	put(directory, "UPPER.pub", "ed25519 " KEY_OF("A") "\n", 0644);
	put(directory, ".pub", "ed25519 " KEY_OF("A") "\n", 0644);
	put(directory, "open.pub", "ed25519 " KEY_OF("A") "\n", 0664);
	assert_int_equal(find(directory, principal, &error), -ENOENT);
	put(directory, "laptop.pub", "ed25519 " KEY_OF("A") "\n", 0644);
	assert_int_equal(find(directory, principal, &error), 0);
	assert_string_equal(principal, "laptop");
	put(directory, "desktop.pub", OTHER "ed25519 " KEY_OF("A") " again\n", 0644);
	assert_int_equal(find(directory, principal, &error), YETT_E_BAD_SIGNATURE);
	assert_non_null(strstr(error.message, "'laptop'"));
	assert_non_null(strstr(error.message, "'desktop'"));
	put(directory, "desktop.pub", OTHER, 0644);
	assert_int_equal(find(directory, principal, &error), 0);
	assert_string_equal(principal, "laptop");
	assert_int_equal(chmod(directory, 0770), 0);
	assert_int_equal(find(directory, principal, &error), -ENOENT);
	assert_int_equal(chmod(directory, 0700), 0);
	put(directory, "laptop.pub", OTHER, 0644); /* in place: the directory stays as it was */
	assert_int_equal(find(directory, principal, &error), -ENOENT);
	assert_int_equal(folder_remove(directory), 0);
}

TEST(names_of_keys_are_those_that_a_grant_can_list)
{
	char directory[] = "/tmp/yett-keys-XXXXXX", principal[MESSAGE_NAME_MAX + 1] = "",
	     name[MESSAGE_NAME_MAX + 6];
	struct yett_error error = {0};

	assert_non_null(mkdtemp(directory));
	memset(name, 'n', sizeof name);
	strcpy(name + MESSAGE_NAME_MAX + 1, ".pub"); /* one letter too many */
	put(directory, name, "ed25519 " KEY_OF("A") "\n", 0644);
	assert_int_equal(find(directory, principal, &error), -ENOENT);
	strcpy(name + MESSAGE_NAME_MAX, ".pub");
	put(directory, name, "ed25519 " KEY_OF("A") "\n", 0644);
	assert_int_equal(find(directory, principal, &error), 0);
	assert_int_equal(strlen(principal), MESSAGE_NAME_MAX);
	assert_int_equal(folder_remove(directory), 0);
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
	assert_int_equal(folder_remove(home), 0);
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

TEST(a_user_s_own_key_is_looked_for_as_the_file_is_now)
{
	char home[] = "/tmp/yett-home-XXXXXX", folder[128];

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

TEST(a_user_s_file_that_others_can_write_or_that_is_none_does_not_count)
{
	char home[] = "/tmp/yett-home-XXXXXX", folder[128], path[160], long_text[16400];

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

TEST(what_somebody_else_owns_enrolls_nobody)
{
	char directory[] = "/tmp/yett-keys-XXXXXX", home[] = "/tmp/yett-home-XXXXXX", folder[128],
	     path[160], principal[MESSAGE_NAME_MAX + 1] = "";
	struct yett_error error = {0};

	if (geteuid() != 0) {
		print_message("not root: nothing of somebody else's can be made\n");
		return;
	}
	assert_non_null(mkdtemp(directory));
	put(directory, "laptop.pub", "ed25519 " KEY_OF("A") "\n", 0644);
	assert_int_equal(chown(directory, 12345, 0), 0);
	assert_int_equal(find(directory, principal, &error), -ENOENT);
	assert_int_equal(chown(directory, 0, 0), 0);
	(void)snprintf(path, sizeof path, "%s/laptop.pub", directory);
	assert_int_equal(chown(path, 12345, 0), 0);
	assert_int_equal(find(directory, principal, &error), -ENOENT);
	assert_int_equal(chown(path, 0, 0), 0);
	assert_int_equal(find(directory, principal, &error), 0);
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

/* --- by the table that yett-policy makes ------------------------------------------------------ */

#define LINES_OF_TABLE 1100

struct table {
	char directory[32];
	struct policy policy;
	char principal[MESSAGE_NAME_MAX + 1];
	struct yett_error error;
};

static int make_table(void **state)
{
	struct table *table = calloc(1, sizeof *table);

	strcpy(table->directory, "/tmp/yett-keys-XXXXXX");
	if (!mkdtemp(table->directory))
		return -1;
	table->policy.keys_dir = table->directory;
	*state = table;
	return 0;
}

static int remove_table(void **state)
{
	struct table *table = *state;
	int r = folder_remove(table->directory);

	enrolled_free(&table->policy);
	free(table);
	return r;
}

static void line_of(unsigned number, char line[KEY_LINE_LENGTH + 2])
{
	uint8_t key[ENVELOPE_KEY_SIZE] = {0};

	for (size_t i = 0; i < sizeof number; i++) /* in no order of theirs */
		key[i] = (uint8_t)((number * 2654435761U) >> (8 * i));
	key_text(key, line);
}

static void put_key(const struct table *table, const char *name, unsigned number)
{
	char text[KEY_LINE_LENGTH + 2];

	line_of(number, text);
	put(table->directory, name, strcat(text, "\n"), 0644);
}

static int find_by(struct table *table, unsigned number)
{
	char line[KEY_LINE_LENGTH + 2];

	line_of(number, line);
	table->principal[0] = '\0';
	return keys_find(&table->policy, line, table->principal, &table->error);
}

static void read_anew(struct table *table, bool has_table)
{
	enrolled_free(&table->policy);
	enrolled_read(&table->policy);
	if ((table->policy.keys_inode != 0) != has_table)
		fail_msg("there is %s table", has_table ? "no" : "a");
	assert_true(has_table || table->policy.enrolled_count == 0);
}

#define WITH_TABLE(test) TEST_OF(test, struct table *table, make_table, remove_table)

WITH_TABLE(each_key_of_the_table_is_found_and_no_other)
{
	char name[32];

	for (unsigned count = 0; count <= LINES_OF_TABLE;
	     count = count * 3 + 1) { /* also where a table has one, or none */
		for (unsigned i = 0; i < count; i++) {
			(void)snprintf(name, sizeof name, "key-%u.pub", i);
			put_key(table, name, i);
		}
		read_anew(table, true);
		assert_int_equal(table->policy.enrolled_count, count);
		for (unsigned i = 0; i < count; i++) {
			(void)snprintf(name, sizeof name, "key-%u", i);
			assert_int_equal(find_by(table, i), 0);
			assert_string_equal(table->principal, name);
		}
		for (unsigned i = count; i < 2 * count + 10; i++)
			assert_int_equal(find_by(table, i), -ENOENT);
	}
}

/* What makes it worth having: with it, no file but the key's own is looked into. */
WITH_TABLE(with_a_table_no_other_file_is_looked_into)
{
	char path[64];

	put_key(table, "one.pub", 1);
	put_key(table, "two.pub", 2);
	read_anew(table, true);
	(void)snprintf(path, sizeof path, "%s/two.pub", table->directory);
	assert_int_equal(chmod(path, 0666), 0); /* a scan says that it is left out */
	for (int has_table = 1; has_table >= 0; has_table--) {
		char said[512] = "";
		int pipes[2], kept = dup(STDERR_FILENO);

		if (!has_table)
			enrolled_free(&table->policy);
		assert_int_equal(pipe2(pipes, O_NONBLOCK), 0);
		assert_true(dup2(pipes[1], STDERR_FILENO) >= 0);
		assert_int_equal(find_by(table, 1), 0);
		assert_true(dup2(kept, STDERR_FILENO) >= 0);
		(void)!read(pipes[0], said, sizeof said - 1);
		assert_int_equal(strstr(said, "two.pub ignored") ? 0 : 1, has_table);
		(void)close(kept);
		(void)close(pipes[0]);
		(void)close(pipes[1]);
	}
}

WITH_TABLE(what_was_put_there_since_counts_at_once)
{
	char path[64], other[64];

	put_key(table, "one.pub", 1);
	read_anew(table, true);
	assert_int_equal(find_by(table, 2), -ENOENT);
	put_key(table, "two.pub", 2);
	assert_int_equal(find_by(table, 2), 0);
	assert_string_equal(table->principal, "two");
	read_anew(table, true);
	(void)snprintf(path, sizeof path, "%s/two.pub", table->directory);
	(void)snprintf(other, sizeof other, "%s/.new", table->directory);
	put_key(table, ".new", 3);
	assert_int_equal(rename(other, path), 0);
	assert_int_equal(find_by(table, 3), 0);
	assert_string_equal(table->principal, "two");
	assert_int_equal(find_by(table, 2), -ENOENT);
	/* Under a second name it is believed under none. */
	read_anew(table, true);
	put_key(table, "again.pub", 1);
	assert_int_equal(find_by(table, 1), YETT_E_BAD_SIGNATURE);
}

WITH_TABLE(what_was_taken_away_since_is_refused_at_once)
{
	char path[64];

	(void)snprintf(path, sizeof path, "%s/one.pub", table->directory);
	put_key(table, "one.pub", 1);
	read_anew(table, true);
	put_key(table, "one.pub", 2); /* in place: the directory is as it was */
	assert_int_equal(find_by(table, 1), -ENOENT);
	put_key(table, "one.pub", 1);
	assert_int_equal(find_by(table, 1), 0);
	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(find_by(table, 1), -ENOENT);
	assert_string_equal(table->principal, "");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(find_by(table, 1), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(find_by(table, 1), -ENOENT);
}

WITH_TABLE(what_is_written_into_a_file_in_place_counts_with_the_next_table)
{
	put_key(table, "one.pub", 1);
	read_anew(table, true);
	put_key(table, "one.pub", 2);
	assert_int_equal(find_by(table, 2), -ENOENT);
	read_anew(table, true);
	assert_int_equal(find_by(table, 2), 0);
}

WITH_TABLE(what_a_table_cannot_tell_is_looked_for_in_the_files)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int socket_fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char text[KEY_FILE_MAX], name[32], path[64];

	put_key(table, "one.pub", 1);
	put_key(table, "again.pub", 1);
	read_anew(table, false);
	assert_int_equal(find_by(table, 1), YETT_E_BAD_SIGNATURE);
	(void)snprintf(path, sizeof path, "%s/again.pub", table->directory);
	assert_int_equal(unlink(path), 0);
	/* One that cannot be opened. */
	(void)snprintf(address.sun_path, sizeof address.sun_path, "%s/socket.pub",
	               table->directory);
	assert_int_equal(bind(socket_fd, (struct sockaddr *)&address, sizeof address), 0);
	(void)close(socket_fd);
	read_anew(table, false);
	assert_int_equal(find_by(table, 1), 0);
	assert_int_equal(unlink(address.sun_path), 0);
	/* More than a table holds. */
	for (unsigned file = 0; file < 60; file++) {
		text[0] = '\0';
		for (unsigned i = 0; i < 300; i++) {
			line_of(100 + file * 300 + i, text + strlen(text));
			(void)strcat(text, "\n");
		}
		(void)snprintf(name, sizeof name, "many-%u.pub", file);
		put(table->directory, name, text, 0644);
	}
	read_anew(table, false);
	assert_int_equal(find_by(table, 100 + 59 * 300), 0);
	assert_string_equal(table->principal, "many-59");
}

WITH_TABLE(what_enrolls_nobody_keeps_no_table_from_being_made)
{
	char path[64], text[4 * KEY_LINE_LENGTH];

	put_key(table, "one.pub", 1);
	put_key(table, "UPPER.pub", 1);
	put_key(table, "one.pub~", 1);
	(void)snprintf(path, sizeof path, "%s/link.pub", table->directory);
	assert_int_equal(symlink("one.pub", path), 0);
	(void)snprintf(path, sizeof path, "%s/folder.pub", table->directory);
	assert_int_equal(mkdir(path, 0755), 0);
	(void)snprintf(path, sizeof path, "%s/fifo.pub", table->directory);
	assert_int_equal(mkfifo(path, 0644), 0);
	put(table->directory, "other.pub",
	    "nonsense\n" OTHER "\nrsa " KEY_OF("A") "\n" OTHER "# " OTHER, 0644);
	read_anew(table, true);
	assert_int_equal(table->policy.enrolled_count, 2);
	assert_int_equal(find_by(table, 1), 0);
	assert_string_equal(table->principal, "one");
	line_of(2, text);
	(void)strcat(text, " with a comment\n");
	line_of(3, text + strlen(text));
	put(table->directory, "last.pub", text, 0644); /* its last line does not end */
	read_anew(table, true);
	assert_int_equal(find_by(table, 2), 0);
	assert_int_equal(find_by(table, 3), 0);
}

/* A captured yett-policy enrolls nobody by it, and has nothing opened that is not a file of the
 * directory. */
WITH_TABLE(a_table_that_lies_enrolls_nobody)
{
	static const char *const files[] = {"../outside.pub",
	                                    "folder/one.pub",
	                                    "/etc/passwd",
	                                    ".hidden.pub",
	                                    "none.pub",
	                                    "other.pub",
	                                    "",
	                                    ".pub"};
	struct stat st;
	char path[64], text[3 * KEY_LINE_LENGTH];

	(void)snprintf(path, sizeof path, "%s/folder", table->directory);
	assert_int_equal(mkdir(path, 0755), 0);
	put_key(table, "folder/one.pub", 1);
	put_key(table, ".hidden.pub", 1);
	put_key(table, "other.pub", 2);
	put(table->directory, "one.pub", "", 0644);
	assert_int_equal(stat(table->directory, &st), 0);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		char line[KEY_LINE_LENGTH + 2];

		read_anew(table, true);
		enrolled_free(&table->policy);
		table->policy.enrolled = calloc(1, sizeof *table->policy.enrolled);
		table->policy.enrolled_count = 1;
		line_of(1, line);
		memcpy(table->policy.enrolled->line, line, KEY_LINE_LENGTH);
		table->policy.enrolled->file = strdup(files[i]);
		table->policy.keys_inode = st.st_ino;
		table->policy.keys_changed = st.st_ctim;
		if (find_by(table, 1) != -ENOENT || *table->principal)
			fail_msg("the key passed for one of %s", files[i]);
	}
	/* By the table: a scan would find both. */
	line_of(1, text);
	line_of(2, strcat(text, "\n") + KEY_LINE_LENGTH + 1);
	put(table->directory, "one.pub", text, 0644);
	free(table->policy.enrolled->file);
	table->policy.enrolled->file = strdup("one.pub");
	assert_int_equal(find_by(table, 1), 0);
	assert_int_equal(find_by(table, 2), -ENOENT);
}

TEST_MAIN(make_line, NULL)
