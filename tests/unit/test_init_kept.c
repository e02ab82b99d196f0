/* SPDX-License-Identifier: Apache-2.0 */
/* What yett-init keeps: outputs of commands, results of those that ended, and what later ones begin
 * with. Its parts alone. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "programs/inside/init/records.h"
#include "programs/inside/init/session.h"
#include "tests/support/testing.h"

static struct message message;

/* Writes to a capture and reads it as init does in one turn. */
static void feed(struct capture *capture, int writer, const char *bytes, size_t room)
{
	size_t wanted;

	assert_int_equal(write(writer, bytes, strlen(bytes)), strlen(bytes));
	capture_read(capture, capture_available(capture, &wanted), room);
}

TEST(output_is_kept_up_to_its_bound_and_the_room)
{
	struct capture capture;
	char kept[16] = "";
	size_t wanted;
	int writer;

	assert_int_equal(capture_open(&capture, 8, &writer), 0);
	assert_int_equal(capture_available(&capture, &wanted), 0);
	capture_read(&capture, 0, 100);
	assert_true(capture.pipe >= 0 &&
	            capture.memory < 0); /* nothing was written, and so nothing is made */
	feed(&capture, writer, "abc", 100);
	assert_int_equal(capture.length, 3);
	assert_int_equal(write(writer, "defgh", 5), 5);
	assert_int_equal(capture_available(&capture, &wanted), 5);
	assert_int_equal(wanted, 5);
	capture_read(&capture, 5, 100);
	assert_false(capture.truncated); /* as much as may be */
	feed(&capture, writer, "i", 100);
	assert_true(capture.truncated);
	assert_int_equal(pread(capture.memory, kept, sizeof kept, 0), 8);
	assert_string_equal(kept, "abcdefgh");
	assert_int_equal(fcntl(capture.memory, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW),
	                 F_SEAL_SHRINK | F_SEAL_GROW);
	close(writer);
	capture_read(&capture, 0, 100);
	assert_int_equal(capture.pipe, -1);
	capture_finish(&capture);
	capture_close(&capture);
	assert_int_equal(capture_open(&capture, 8, &writer), 0);
	feed(&capture, writer, "abc", 2);
	assert_int_equal(capture.length, 2);
	assert_true(capture.truncated);
	close(writer);
	capture_close(&capture);
}

static struct record record_of(struct records *records, const char *name)
{
	struct record record;

	message.kind = MESSAGE_EXEC;
	message.arena_used = 0;
	message.body.exec.argv_count = 2;
	assert_int_equal(message_add_text(&message, name, &message.body.exec.argv[0]), 0);
	assert_int_equal(message_add_text(&message, "argument", &message.body.exec.argv[1]), 0);
	assert_int_equal(record_begin(records, &record, &message), 0);
	return record;
}

TEST(a_record_has_the_arguments_cut_and_of_whole_characters)
{
	static struct records records;
	char name[600];
	struct record record = record_of(&records, "ls");

	assert_memory_equal(record.argv, "ls\0argument", sizeof "ls\0argument");
	assert_int_equal(record.argv_count, 2);
	assert_false(record.argv_cut);
	memset(name, 'x', sizeof name);
	memcpy(name + MESSAGE_COMMAND_TEXT_MAX - 2, "é", 3); /* there is room for its first byte */
	record = record_of(&records, name);
	assert_int_equal(strlen(record.argv), MESSAGE_COMMAND_TEXT_MAX - 1);
	assert_int_equal(record.argv[MESSAGE_COMMAND_TEXT_MAX - 2], '?');
	assert_int_equal(record.argv_count, 1);
	assert_true(record.argv_cut);
	assert_int_equal(record.id, 2);
}

/* One that has ended, with some output or without. */
static void end_one(struct records *records, bool has_output, bool is_fetched)
{
	struct record record = record_of(records, "x");
	int writer;

	if (has_output) {
		assert_int_equal(capture_open(&record.captures[0], 100, &writer), 0);
		feed(&record.captures[0], writer, "12345", 100);
		close(writer);
		capture_finish(&record.captures[0]);
	}
	if (is_fetched)
		record_fetched(&record, true);
	records_keep_consume(records, &record);
}

TEST(results_go_by_age_and_room_is_made_by_those_with_output)
{
	static struct records records;

	for (uint64_t i = 1; i <= RECORDS_MAX + 2; i++)
		end_one(&records, i == 5 || i == 7, false);
	assert_null(records_find(&records, 2));
	assert_int_equal(records_find_from(&records, 1)->id, 3);
	assert_int_equal(records_bytes(&records), 10);
	assert_true(records_make_room(&records));
	assert_null(records_find(&records, 5));
	assert_int_equal(records_find_from(&records, 1)->id, 3); /* which have none */
	assert_int_equal(records_bytes(&records), 5);
	assert_true(records_make_room(&records));
	assert_false(records_make_room(&records));
	assert_null(records_find(&records, 7));
	assert_int_equal(records_find_from(&records, 7)->id, 8);
	assert_null(records_find_from(&records, RECORDS_MAX + 3));
}

TEST(what_was_fetched_goes_before_what_was_not)
{
	static struct records records;
	struct record record = record_of(&records, "x");

	record_fetched(&record, false); /* 1 */
	assert_true(record.is_fetched);
	records_keep_consume(&records, &record);
	for (uint64_t i = 2; i <= RECORDS_MAX; i++)
		end_one(&records, i < 4 || i == 200, i == 3 || i == 100 || i == 200);
	/* of 2 the end alone was told, and there is output */
	record_fetched(records_find(&records, 2), false);
	assert_false(records_find(&records, 2)->is_fetched);
	assert_true(records_make_room(&records));
	assert_null(records_find(&records, 3));
	end_one(&records, false, false);
	for (uint64_t gone = 1; gone <= 200; gone += gone == 1 ? 99 : 100) {
		assert_non_null(records_find(&records, gone));
		end_one(&records, false, false);
		assert_null(records_find(&records, gone));
	}
	assert_int_equal(records_find_from(&records, 1)->id, 2);
	/* all are yet to be fetched: the next one is kept only if it is, too */
	end_one(&records, false, true);
	assert_null(records_find(&records, records.last));
	assert_non_null(records_find(&records, 2));
	end_one(&records, false, false);
	assert_non_null(records_find(&records, records.last));
	assert_null(records_find(&records, 2));
	for (uint64_t id = 4, from = 3; id < records.last; id++) {
		struct record *next = records_find_from(&records, from + 1);

		if (id == 100 || id == 200 || id == records.last - 1)
			continue;
		assert_int_equal(next->id, id);
		from = next->id;
	}
}

static int change(struct session *session, const char *cwd, const char *set, const char *unset)
{
	struct message_session *body = &message.body.session;
	struct yett_error error;

	message.kind = MESSAGE_SESSION;
	message.arena_used = 0;
	memset(body, 0, sizeof *body);
	assert_int_equal(message_add_text(&message, cwd, &body->cwd), 0);
	if (set)
		assert_int_equal(message_add_text(&message, set, &body->set[body->set_count++]), 0);
	if (unset)
		assert_int_equal(
			message_add_text(&message, unset, &body->unset[body->unset_count++]), 0);
	return session_change(session, &message, &error);
}

TEST(a_session_changes_wholly_or_not_at_all)
{
	static struct session session;
	static char large[SESSION_BYTES_MAX + 1];

	assert_int_equal(change(&session, "/a", "A=1", NULL), 0);
	assert_int_equal(change(&session, "", "AB=2", "ABC"), 0);
	assert_int_equal(change(&session, "/b", NULL, "A="), YETT_E_INVALID_REQUEST);
	assert_int_equal(change(&session, "b", NULL, NULL), YETT_E_INVALID_REQUEST);
	memset(large, 'x', sizeof large - 1);
	large[1] = '=';
	assert_int_equal(change(&session, "/b", large, NULL), YETT_E_RESOURCE_LIMIT);
	large[sizeof large - 2 - strlen("A=1") - 1 - strlen("AB=2") - 1] =
		'\0'; /* exactly what is left, and its NUL */
	assert_int_equal(change(&session, "", large, NULL), 0);
	assert_int_equal(session.env_used, SESSION_BYTES_MAX);
	assert_int_equal(change(&session, "", "A=22", NULL), YETT_E_RESOURCE_LIMIT);
	assert_int_equal(change(&session, "", "A=2", NULL), 0);
	session_report(&session, &message);
	assert_string_equal(message_text(&message, message.body.surroundings.cwd), "/a");
	assert_int_equal(message.body.surroundings.env_count, 3);
	assert_string_equal(message_text(&message, message.body.surroundings.env[2]), "A=2");
}

/* init drops into its descriptor 0. */
static int open_null(void **state)
{
	int fd = open("/dev/null", O_RDWR);

	(void)state;
	return fd < 0 || dup2(fd, STDIN_FILENO) < 0 || (fd != STDIN_FILENO && close(fd) < 0);
}

TEST_MAIN(open_null, NULL)
