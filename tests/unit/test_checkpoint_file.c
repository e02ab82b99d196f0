/* SPDX-License-Identifier: Apache-2.0 */
/* Files of stores: where they are, what is none, and what is damaged. Others' users, processes and
 * disks are in tests/system. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "checkpoint/yett-checkpoint.h"
#include "tests/support/testing.h"

#define ROUNDS 200

static char directory[64], path[96];

static int make_directory(void **state)
{
	(void)state;
	(void)strcpy(directory, "/tmp/yett-checkpoint-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof path, "%s/store.db", directory);
	return 0;
}

static int remove_directory(void **state)
{
	static const char *const names[] = {"store.db", "store.db-wal", "store.db-shm",
	                                    "store.db-journal", "yett/checkpoints.db"};
	char name[128];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		(void)snprintf(name, sizeof name, "%s/%s", directory, names[i]);
		(void)unlink(name);
	}
	(void)snprintf(name, sizeof name, "%s/yett", directory);
	(void)rmdir(name);
	return rmdir(directory);
}

static int open_at(const char *file, uint32_t flags, struct yett_checkpoint_store **ret_store,
                   struct yett_error *error)
{
	const struct yett_checkpoint_store_options options = {
		.size = sizeof options, .path = file, .flags = flags, .timeout_ms = 50};

	*ret_store = NULL;
	return yett_checkpoint_store_open(&options, ret_store, error);
}

static int put_one(struct yett_checkpoint_store *store, size_t size, struct yett_error *error)
{
	_cleanup_free_ char *bytes = calloc(1, size + 1);
	const struct yett_checkpoint_put_options options = {
		.size = sizeof options,
		.thread = "t",
		.state = bytes,
		.state_size = size,
		.tags = (const char *const[]){"a", "b", NULL},
		.custom = "{\"a\":1}"};

	return yett_checkpoint_put(store, &options, NULL, NULL, error);
}

/* A store with so many checkpoints in it, closed. */
static void make_store(int count, size_t size)
{
	struct yett_checkpoint_store *store;
	struct yett_error error = {0};

	if (open_at(path, 0, &store, &error) != 0)
		fail_msg("%s", error.message);
	for (int i = 0; i < count; i++)
		assert_int_equal(put_one(store, size, NULL), 0);
	yett_checkpoint_store_close(store);
}

static size_t count_all(struct yett_checkpoint_store *store)
{
	struct yett_checkpoint_list *list;
	size_t count;

	assert_int_equal(yett_checkpoints_list(store, NULL, &list, NULL), 0);
	count = yett_checkpoint_list_count(list);
	yett_checkpoint_list_free(list);
	return count;
}

static void run_sql(const char *sql)
{
	sqlite3 *connection;

	assert_int_equal(sqlite3_open(path, &connection), SQLITE_OK);
	assert_int_equal(sqlite3_exec(connection, sql, NULL, NULL, NULL), SQLITE_OK);
	(void)sqlite3_close(connection);
}

/* What opening it says. */
static void assert_refused(const char *file, int code, const char *said)
{
	struct yett_checkpoint_store *store;
	struct yett_error error = {0};

	assert_int_equal(open_at(file, 0, &store, &error), code);
	assert_non_null(strstr(error.message, said));
	assert_null(store);
	/* a caller who wants no text learns of the failure all the same */
	assert_int_equal(open_at(file, 0, &store, NULL), code);
	assert_null(store);
}

TEST_WITH(what_was_put_is_there_again, make_directory, remove_directory)
{
	struct yett_checkpoint_store *store;

	make_store(3, 10000);
	assert_int_equal(open_at(path, YETT_CHECKPOINT_EXISTING, &store, NULL), 0);
	assert_int_equal(count_all(store), 3);
	yett_checkpoint_store_close(store);
}

TEST_WITH(two_of_one_file_see_each_other, make_directory, remove_directory)
{
	struct yett_checkpoint_store *one, *other, *lazy;

	assert_int_equal(open_at(path, 0, &one, NULL), 0);
	assert_int_equal(open_at(path, 0, &other, NULL), 0);
	assert_int_equal(open_at(path, YETT_CHECKPOINT_LAZY, &lazy, NULL), 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(put_one(one, 10, NULL), 0);
		assert_int_equal(put_one(other, 10, NULL), 0);
		assert_int_equal(put_one(lazy, 10, NULL), 0);
	}
	yett_checkpoint_store_close(one);
	assert_int_equal(count_all(other), 15);
	yett_checkpoint_store_close(other);
	yett_checkpoint_store_close(lazy);
}

TEST_WITH(nobody_else_has_access, make_directory, remove_directory)
{
	static const char *const names[] = {"", "-wal", "-shm"};
	struct yett_checkpoint_store *store;
	mode_t mask = umask(0);

	assert_int_equal(open_at(path, 0, &store, NULL), 0);
	assert_int_equal(put_one(store, 10, NULL), 0);
	(void)umask(mask);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char name[128];
		struct stat st;

		(void)snprintf(name, sizeof name, "%s%s", path, names[i]);
		assert_int_equal(stat(name, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	yett_checkpoint_store_close(store);
}

TEST_WITH(the_default_is_in_the_state_home, make_directory, remove_directory)
{
	char name[128];
	struct yett_checkpoint_store *store;
	struct yett_error error = {0};
	struct stat st;

	assert_int_equal(setenv("XDG_STATE_HOME", directory, 1), 0);
	assert_int_equal(open_at(NULL, YETT_CHECKPOINT_EXISTING, &store, &error), YETT_E_NOT_FOUND);
	(void)snprintf(name, sizeof name,
	               "there is no store of checkpoints at %s/yett/checkpoints.db", directory);
	assert_string_equal(error.message, name);
	assert_int_equal(open_at(NULL, 0, &store, NULL), 0);
	yett_checkpoint_store_close(store);
	(void)snprintf(name, sizeof name, "%s/yett", directory);
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
	(void)!open_at(NULL, YETT_CHECKPOINT_EXISTING, &store, &error);
	yett_checkpoint_store_close(store);
	assert_int_equal(access("relative", F_OK), -1);
	assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
}

TEST_WITH(paths_that_can_be_no_store_are_refused, make_directory, remove_directory)
{
	static char too_long[5000], long_name[4 + 1 + 248 + 1] = "/tmp/";

	memset(long_name + 5, 'x', 248);
	assert_refused(long_name, YETT_E_INVALID_REQUEST, "the path of the store is too long");
	assert_int_equal(access(long_name, F_OK), -1);
	memset(too_long, 'x', sizeof too_long - 1);
	assert_refused(too_long, YETT_E_INVALID_REQUEST, "the path of the store is too long");
	assert_refused("", YETT_E_INVALID_REQUEST, "'' names no file for a store");
	assert_refused("/", YETT_E_INVALID_REQUEST, "names no file");
	assert_refused("/tmp/..", YETT_E_INVALID_REQUEST, "names no file");
	assert_refused("/nowhere/store.db", YETT_E_NOT_FOUND,
	               "cannot find the directory /nowhere: No such file or directory");
	assert_refused("/dev/null/store.db", YETT_E_FILE_OPERATION_FAILED, "Not a directory");
}

TEST_WITH(a_lock_has_a_deadline, make_directory, remove_directory)
{
	struct yett_checkpoint_store *store;
	struct yett_error error = {0};
	sqlite3 *holder;

	make_store(1, 10);
	assert_int_equal(open_at(path, 0, &store, NULL), 0);
	assert_int_equal(sqlite3_open(path, &holder), SQLITE_OK);
	assert_int_equal(sqlite3_exec(holder, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(put_one(store, 10, &error), YETT_E_TIMEOUT);
	assert_non_null(strstr(error.message, "locked for 50 ms"));
	assert_int_equal(count_all(store), 1);
	assert_int_equal(sqlite3_exec(holder, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(put_one(store, 10, NULL), 0);
	(void)sqlite3_close(holder);
	yett_checkpoint_store_close(store);
}

TEST_WITH(other_files_and_other_versions_are_refused, make_directory, remove_directory)
{
	make_store(1, 10);
	run_sql("PRAGMA user_version=2");
	assert_refused(path, YETT_E_UNSUPPORTED,
	               "was made by a later version: it has the schema 2");
	run_sql("PRAGMA user_version=1; PRAGMA application_id=1");
	assert_refused(path, YETT_E_FILE_OPERATION_FAILED,
	               "is no store of checkpoints, but another file");
	assert_int_equal(truncate(path, 1000), 0);
	assert_refused(path, YETT_E_FILE_OPERATION_FAILED, "");
}

/* Names that begin so are SQLite's own, and who makes a file gives them to what is not. */
TEST_WITH(what_acts_by_itself_is_refused_whatever_it_is_called, make_directory, remove_directory)
{
	struct yett_checkpoint_store *store;

	make_store(1, 10);
	run_sql("ANALYZE");
	assert_int_equal(open_at(path, 0, &store, NULL), 0);
	yett_checkpoint_store_close(store);
	run_sql("CREATE TRIGGER evil AFTER INSERT ON checkpoint BEGIN UPDATE checkpoint SET state = x'65' WHERE id = NEW.id; END");
	assert_refused(path, YETT_E_FILE_OPERATION_FAILED, "its tables are not those of a store");
	run_sql("PRAGMA writable_schema=ON;"
	        "UPDATE sqlite_schema SET name = 'sqlite_evil', sql = replace(sql, 'TRIGGER evil', 'TRIGGER sqlite_evil') WHERE name = 'evil'");
	assert_refused(path, YETT_E_FILE_OPERATION_FAILED, "its tables are not those of a store");
}

TEST_WITH(what_is_made_only_in_part_is_made, make_directory, remove_directory)
{
	struct yett_checkpoint_store *store;

	run_sql("PRAGMA journal_mode=WAL");
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(open_at(path, 0, &store, NULL), 0);
	assert_int_equal(put_one(store, 10, NULL), 0);
	yett_checkpoint_store_close(store);
}

TEST_WITH(what_is_too_old_goes_when_a_store_is_opened, make_directory, remove_directory)
{
	struct yett_checkpoint_store_options options = {
		.size = sizeof options, .path = path, .ttl_ms = 1000};
	struct yett_checkpoint_store *store;

	make_store(2, 10);
	run_sql("UPDATE checkpoint SET id = x'00000000000070008000000000000001' WHERE parent IS NULL");
	assert_int_equal(yett_checkpoint_store_open(&options, &store, NULL), 0);
	assert_int_equal(count_all(store), 1);
	yett_checkpoint_store_close(store);
}

/* Everything that there is to ask, of what may be damaged: it ends, and each error is one that is
 * told. */
static int ask_all(struct yett_checkpoint_store *store)
{
	struct yett_checkpoint *checkpoint = NULL;
	struct yett_checkpoint_list *list = NULL, *line = NULL;
	struct yett_error error = {0};
	int failures = 0;

	failures += yett_checkpoints_list(store, NULL, &list, &error) != 0;
	for (size_t i = 0; list && i < yett_checkpoint_list_count(list); i++) {
		const char *id = yett_checkpoint_list_get(list, i)->id;

		checkpoint = NULL;
		failures += yett_checkpoint_get(store, id, &checkpoint, &error) != 0;
		yett_checkpoint_free(checkpoint);
		failures += yett_checkpoint_history(store, id, &line, &error) != 0;
		if (line)
			yett_checkpoint_list_free(line);
		line = NULL;
	}
	yett_checkpoint_list_free(list);
	checkpoint = NULL;
	failures += yett_checkpoint_latest(store, "t", &checkpoint, &error) != 0;
	yett_checkpoint_free(checkpoint);
	failures += put_one(store, 5000, &error) != 0;
	failures += yett_checkpoint_delete_thread(store, "t", NULL, &error) != 0;
	assert_true(failures == 0 ||
	            (error.code == YETT_E_FILE_OPERATION_FAILED && error.message[0]) ||
	            error.code == YETT_E_NOT_FOUND || error.code == YETT_E_OUT_OF_MEMORY);
	return failures;
}

static void write_file(const char *bytes, size_t size)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
}

TEST_WITH(a_damaged_file_is_told_and_harms_nobody, make_directory, remove_directory)
{
	_cleanup_free_ char *whole = malloc(200000), *damaged = malloc(200000);
	unsigned chance = 1, failures = 0;
	ssize_t size;
	int fd;

	make_store(8, 3000);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	size = read(fd, whole, 200000);
	(void)close(fd);
	assert_in_range(size, 20000, 199999);
	for (int i = 0; i < ROUNDS; i++) {
		struct yett_checkpoint_store *store;
		struct yett_error error = {0};

		memcpy(damaged, whole, (size_t)size);
		for (int j = 0; j <= i % 16; j++) {
			chance = chance * 1664525 + 1013904223;
			/* every other time where pages begin, and say what is in them */
			damaged[(i % 2 ? chance >> 8
			               : (chance >> 8) % (unsigned)(size / 4096) * 4096 +
			                         (chance >> 20) % 64) %
			        (unsigned)size] = (char)(chance >> 24);
		}
		write_file(damaged, (size_t)size);
		if (open_at(path, 0, &store, &error) != 0) {
			assert_true(error.code == YETT_E_FILE_OPERATION_FAILED ||
			            error.code == YETT_E_UNSUPPORTED);
			assert_true(error.message[0]);
			failures++;
			continue;
		}
		failures += ask_all(store) > 0;
		yett_checkpoint_store_close(store);
	}
	assert_in_range(failures, ROUNDS / 4, ROUNDS - 1);
}

TEST_WITH(what_ends_too_early_is_told, make_directory, remove_directory)
{
	struct yett_checkpoint_store *store;
	struct yett_error error = {0};

	make_store(8, 3000);
	assert_int_equal(truncate(path, 4096 * 5), 0);
	if (open_at(path, 0, &store, &error) == 0) {
		assert_true(ask_all(store) > 0);
		yett_checkpoint_store_close(store);
	} else {
		assert_int_equal(error.os_error, EUCLEAN);
	}
}

TEST_MAIN(NULL, NULL)
