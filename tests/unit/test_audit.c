/* SPDX-License-Identifier: Apache-2.0 */
/* The chain of the audit, its state when a write was cut short, torn pieces, what users are charged
 * for, and members of lines. */
#include <string.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "programs/audit/chain.h"
#include "programs/audit/field.h"
#include "programs/audit/slots.h"
#include "programs/audit/quota.h"
#include "programs/audit/truncated.h"
#include "programs/audit/verify.h"
#include "tests/support/testing.h"

static const uint8_t id[CHAIN_ID_SIZE] = {1}, first_key[CHAIN_HASH_SIZE] = {2};

/* The line of the next record. */
static size_t append(struct chain *chain, char *line, size_t size, const char *rest)
{
	int length = snprintf(line, size, "{\"seq\":%llu,\"epoch\":%llu,%s",
	                      (unsigned long long)chain->number + 1,
	                      (unsigned long long)chain->epoch, rest);

	assert_true(length > 0 && (size_t)length + CHAIN_TAIL_SIZE < size);
	return chain_append(chain, line, (size_t)length);
}

TEST(a_record_is_accepted_in_its_place_and_nowhere_else)
{
	struct chain chain, reader, later;
	char lines[3][256];
	size_t lengths[3];

	chain_begin(&chain, id, first_key);
	reader = chain;
	for (size_t i = 0; i < 3; i++)
		lengths[i] = append(&chain, lines[i], sizeof lines[i], "\"event\":\"x\"");
	assert_false(chain_accept(&reader, lines[1], lengths[1]));
	assert_true(chain_accept(&reader, lines[0], lengths[0]));
	assert_false(chain_accept(&reader, lines[0], lengths[0]));
	later = reader;
	chain_advance(&later);
	assert_false(chain_accept(&later, lines[1], lengths[1]));
	for (size_t i = 0; i < lengths[1]; i++) {
		lines[1][i] ^= 1;
		assert_false(chain_accept(&reader, lines[1], lengths[1]));
		assert_false(chain_accept(&reader, lines[1], i));
		lines[1][i] ^= 1;
	}
	assert_true(chain_accept(&reader, lines[1], lengths[1]));
	assert_true(chain_accept(&reader, lines[2], lengths[2]));
	assert_memory_equal(&reader, &chain, sizeof chain);
}

TEST(a_minute_is_sealed_with_all_before_it_and_its_key_is_gone)
{
	struct chain a, b;
	uint8_t key[CHAIN_HASH_SIZE];
	char line[256];

	chain_begin(&a, id, first_key);
	b = a;
	(void)append(&a, line, sizeof line, "\"event\":\"x\"");
	memcpy(key, a.key, sizeof key);
	chain_advance(&a);
	chain_advance(&b);
	assert_memory_equal(a.key, b.key,
	                    sizeof a.key); /* which does not depend on what was written */
	assert_memory_not_equal(a.seal, b.seal, sizeof a.seal);
	assert_null(memmem(&a, sizeof a, key, sizeof key));
	chain_next_key(key);
	assert_memory_equal(a.key, key, sizeof key);
	assert_int_equal(a.epoch, 1);
}

TEST(a_key_is_read_as_it_was_printed_and_a_wrong_copy_is_found)
{
	uint8_t read_id[CHAIN_ID_SIZE], key[CHAIN_HASH_SIZE];
	char text[CHAIN_KEY_TEXT_SIZE];

	(void)chain_print_key(id, first_key, text);
	assert_int_equal(strlen(text), CHAIN_KEY_TEXT_SIZE - 1);
	assert_true(chain_parse_key(text, read_id, key));
	assert_memory_equal(read_id, id, sizeof id);
	assert_memory_equal(key, first_key, sizeof key);
	for (size_t i = 0; i < strlen(text); i++) {
		char saved = text[i];

		text[i] = saved == '0' ? '1' : '0';
		assert_false(chain_parse_key(text, read_id, key));
		text[i] = '\0';
		assert_false(chain_parse_key(text, read_id, key));
		text[i] = saved;
	}
}

static int new_file(void)
{
	int fd = memfd_create("state", MFD_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static void put_back(int fd, const char *bytes, size_t size)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), (ssize_t)size);
}

/* Each sector of each write is there or not. */
TEST(a_state_is_there_after_an_end_at_any_moment_of_its_change)
{
	struct slots_state old = {.segment = 3}, next, read;
	char before[2 * SLOTS_EACH] = "", written[2 * SLOTS_EACH] = "";
	int fd = new_file();

	chain_begin(&old.chain, id, first_key);
	assert_int_equal(slots_load(fd, &read), -ENOENT);
	assert_int_equal(slots_store(fd, &old), 0);
	assert_true(pread(fd, before, sizeof before, 0) > 0);
	next = old;
	chain_advance(&next.chain);
	assert_int_equal(slots_store(fd, &next), 0);
	assert_true(pread(fd, written, sizeof written, 0) > 0);
	assert_null(memmem(written, sizeof written, old.chain.key, sizeof old.chain.key));
	for (int is_new = 0; is_new <= 1; is_new++) {
		for (int is_wiped = 0; is_wiped <= is_new; is_wiped++) {
			char left[2 * SLOTS_EACH];
			size_t of_new = next.generation % 2 ? SLOTS_EACH : 0,
			       of_old = SLOTS_EACH - of_new;

			memcpy(left, before, sizeof left);
			if (is_new)
				memcpy(left + of_new, written + of_new, 512);
			if (is_wiped)
				memcpy(left + of_old, written + of_old, 512);
			put_back(fd, left, sizeof left);
			assert_int_equal(slots_load(fd, &read), 0);
			assert_int_equal(read.generation,
			                 is_new ? next.generation : old.generation);
			assert_true(pread(fd, left, sizeof left, 0) > 0);
			assert_int_equal(memmem(left, sizeof left, old.chain.key,
			                        sizeof old.chain.key) == NULL,
			                 is_new);
		}
	}
	close(fd);
}

TEST(a_state_that_is_damaged_is_none)
{
	struct slots_state one = {.segment = 1}, read;
	char bytes[2 * SLOTS_EACH] = "";
	int fd = new_file();

	assert_int_equal(slots_store(fd, &one), 0);
	assert_true(pread(fd, bytes, sizeof bytes, 0) > 0);
	for (size_t i = 0; i < 512; i++) {
		size_t at = SLOTS_EACH + i; /* generation 1 is in the second slot */

		bytes[at] ^= 1;
		put_back(fd, bytes, sizeof bytes);
		assert_int_equal(slots_peek(fd, &read), -ENOENT);
		bytes[at] ^= 1;
	}
	put_back(fd, bytes, sizeof bytes);
	assert_int_equal(slots_peek(fd, &read), 0);
	close(fd);
}

TEST(a_chain_waits_until_it_is_taken_up_and_no_other_takes_its_place)
{
	struct slots_next next = {.id = {7}, .key = {8}}, read;
	int fd = new_file();

	assert_int_equal(slots_read_next(fd, &read), -ENOENT);
	assert_int_equal(slots_write_next(fd, &next), 0);
	assert_int_equal(slots_write_next(fd, &next), -EBUSY);
	assert_int_equal(slots_read_next(fd, &read), 0);
	assert_memory_equal(&read, &next, sizeof next);
	assert_int_equal(slots_wipe_next(fd), 0);
	assert_int_equal(slots_read_next(fd, &read), -ENOENT);
	close(fd);
}

TEST(names_of_segments_have_one_form)
{
	assert_int_equal(slots_segment_number("00000001.jsonl"), 1);
	assert_int_equal(slots_segment_number("99999999.jsonl"), 99999999);
	for (size_t i = 0; i < 8; i++) {
		static const char *const wrong[] = {
			"1.jsonl",       "00000000.jsonl",  "000000001.jsonl", "+0000001.jsonl",
			"00000001.json", "00000001.jsonl~", "state",           ""};

		assert_int_equal(slots_segment_number(wrong[i]), 0);
	}
}

TEST(of_several_that_tell_of_one_torn_piece_the_last_is_tried_first)
{
	static const char begin[] = "abc\n{\"event\":\"torn\",\"offset\":100,\"bytes\":3}\nde\n";
	static struct truncated_list list;
	const size_t second = sizeof begin - 1;
	size_t from, size;
	char bytes[256];

	size = (size_t)snprintf(bytes, sizeof bytes,
	                        "%s{\"event\":\"segment\",\"offset\":100,\"bytes\":%zu}\n", begin,
	                        second - 1);
	truncated_find(bytes, size, &list);
	assert_int_equal(list.count, 2);
	from = list.count;
	assert_int_equal(truncated_after(&list, 100, 0, &from), second);
	assert_int_equal(truncated_after(&list, 100, 0, &from), 4);
	assert_int_equal(truncated_after(&list, 100, 0, &from), 0);
	from = list.count;
	assert_int_equal(truncated_after(&list, 99, 0, &from), 0);
	from = list.count;
	assert_int_equal(truncated_after(&list, 99, 1, &from), 0); /* it is shorter than is said */
}

TEST(a_user_has_so_many_bytes_a_day)
{
	static struct quota quota;
	struct quota_row *row;

	quota = (struct quota){.max_bytes = 100};
	row = quota_find(&quota, 1000, 5);
	assert_true(quota_take(&quota, row, 60, false));
	assert_false(quota_take(&quota, row, 41, false));
	assert_true(quota_take(&quota, row, 40, false));
	assert_false(quota_take(&quota, quota_find(&quota, 1000, QUOTA_DAY_MS - 1), 1, false));
	assert_true(quota_take(&quota, quota_find(&quota, 1001, 5), 100, false));
	/* what is cut short has as much room by itself */
	assert_true(quota_take(&quota, row, 100, true));
	assert_false(quota_take(&quota, row, 1, true));
	assert_true(quota_take(&quota, quota_find(&quota, 1000, QUOTA_DAY_MS + 5), 100, false));
}

/* More users than there are rows: nobody's bytes are forgotten, and who is new is not locked out.
 */
TEST(a_crowd_of_users_lets_nobody_escape_and_locks_nobody_out)
{
	static struct quota quota;
	uint64_t most = 0;

	quota = (struct quota){.max_bytes = 1000000};
	assert_true(quota_take(&quota, quota_find(&quota, 7, 0), 999000, false));
	for (uint32_t uid = 100; uid < 100 + 20 * QUOTA_USERS; uid++) {
		struct quota_row *row = quota_find(&quota, uid, 0);

		most = row->bytes > most ? row->bytes : most;
		assert_true(quota_take(&quota, row, 100, false));
	}
	assert_in_range(most, 1, 20 * 100 + 100);
	assert_false(quota_take(&quota, quota_find(&quota, 7, 0), 1001, false));
}

TEST(refusals_beyond_some_are_counted_and_a_row_with_such_is_not_given_away)
{
	static struct quota quota;
	struct quota_row *row;
	unsigned written = 0;

	quota = (struct quota){0};
	row = quota_find(&quota, 100000, 0);
	for (unsigned i = 0; i < 1000; i++)
		written += quota_refused(row, i);
	assert_int_equal(written, QUOTA_REFUSED_MAX);
	assert_int_equal(row->merged, 1000 - QUOTA_REFUSED_MAX);
	assert_int_equal(row->first_ms, QUOTA_REFUSED_MAX);
	assert_int_equal(row->last_ms, 999);
	for (uint32_t uid = 1; uid < QUOTA_USERS; uid++)
		assert_true(quota_take(&quota, quota_find(&quota, uid, 0), 10, false));
	assert_null(quota_find(&quota, 5000, 0));
	assert_ptr_equal(quota_merged(&quota, 0), row);
	row->merged = 0;
	assert_ptr_equal(quota_find(&quota, 5000, 0), row);
	quota_minute(&quota);
	assert_true(quota_refused(row, 0));
}

TEST(members_are_found_by_their_path)
{
	static const char line[] =
		"{\"a\":{\"b\":[1,{\"c\":2}],\"c\":\"x\\u00e4\\\"\\n\"},\"c\":18446744073709551615,\"d\":null,\"e\":true}";
	char text[32];
	uint64_t number;

	assert_true(field_is_object(line, sizeof line - 1));
	assert_true(field_number(line, sizeof line - 1, "c", &number) && number == UINT64_MAX);
	assert_true(field_text(line, sizeof line - 1, "a.c", text, sizeof text));
	assert_string_equal(text, "xä\"\n");
	assert_true(field_is(line, sizeof line - 1, "e", "true"));
	assert_false(field_text(line, sizeof line - 1, "d", text, sizeof text));
	assert_false(field_text(line, sizeof line - 1, "a", text, sizeof text));
	assert_false(field_text(line, sizeof line - 1, "b", text, sizeof text));
	assert_false(field_number(line, sizeof line - 1, "a.c", &number));
	for (size_t i = 0; i < sizeof line - 1; i++)
		assert_false(field_is_object(line, i));
}

TEST(what_is_no_json_is_no_object)
{
	static const char *const wrong[] = {"",
	                                    "[]",
	                                    "{",
	                                    "{\"a\"}",
	                                    "{\"a\":1,}",
	                                    "{\"a\":1,,\"b\":2}",
	                                    "{\"a\":01}",
	                                    "{a:1}",
	                                    "{\"a\":\"\x01\"}",
	                                    "{\"a\":\"\\x\"}",
	                                    "{\"a\":[1 2]}",
	                                    "{\"a\":tru}",
	                                    "{\"a\":[1}}",
	                                    "{}x"};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_false(field_is_object(wrong[i], strlen(wrong[i])));
	assert_true(field_is_object("{}", 2));
}

TEST_MAIN(NULL, NULL)
