/* SPDX-License-Identifier: Apache-2.0 */
/* The codec against structs and bytes that no honest peer would make. The vectors say the rest. */

#include <string.h>

#include "protocol/codec.h"
#include "base/error_text.h"
#include "protocol/explain.h"
#include "protocol/schema.h"
#include "tests/support/testing.h"

static struct message message, decoded;
static uint8_t buffer[MESSAGE_PACKET_MAX];

/* A create that says something in every field, with three shares and two tmpfs. */
static struct message_create *make_create(void)
{
	struct message_create *create = &message.body.create;

	memset(&message, 0, sizeof message);
	message.kind = MESSAGE_CREATE;
	assert_int_equal(message_add_text(&message, "build", &create->profile), 0);
	assert_int_equal(message_add_text(&message, "box", &create->hostname), 0);
	create->limits = (struct message_limits){1 << 30, 1500, 100, 1024};
	create->shares_count = 3;
	for (uint32_t i = 0; i < 3; i++) {
		create->shares[i].fd = i;
		assert_int_equal(
			message_add_text(&message, "/work/\xc3\xa9", &create->shares[i].target), 0);
	}
	create->tmpfs_count = 2;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(message_add_text(&message, "/scratch", &create->tmpfs[i].target),
		                 0);
	create->plan_only = true;
	assert_int_equal(message_add_text(&message, "tests-1", &create->name), 0);
	create->labels_count = 2;
	for (uint32_t i = 0; i < 2; i++)
		assert_int_equal(message_add_text(&message, "app=web", &create->labels[i]), 0);
	create->life = (struct message_life){true, 3600000, 60000, 300000, IDLE_PAUSE, 1000};
	return create;
}

static void assert_not_encoded(enum yett_reason reason, const char *field)
{
	struct yett_error error = {0};
	size_t length = 12345;

	assert_int_equal(message_encode(&message, buffer, sizeof buffer, &length), -EMSGSIZE);
	assert_int_equal(length, 12345);
	assert_int_equal(message_check(&message, &error), YETT_E_INVALID_REQUEST);
	assert_string_equal(error_reason_short_name(error.reason), error_reason_short_name(reason));
	assert_string_equal(error.detail, field);
}

TEST(what_is_encoded_is_decoded_to_the_same_values)
{
	const struct message_create *create = make_create(), *again = &decoded.body.create;
	size_t length;

	assert_int_equal(message_encode(&message, buffer, sizeof buffer, &length), 0);
	memset(&decoded, 0xff, sizeof decoded);
	assert_int_equal(message_decode(MESSAGE_CREATE, buffer, length, &decoded, NULL), 0);
	assert_string_equal(message_text(&decoded, again->profile), "build");
	assert_string_equal(message_text(&decoded, again->hostname), "box");
	assert_memory_equal(&again->limits, &create->limits, sizeof create->limits);
	assert_int_equal(again->shares_count, 3);
	assert_int_equal(again->shares[2].fd, 2);
	assert_string_equal(message_text(&decoded, again->shares[2].target), "/work/\xc3\xa9");
	assert_int_equal(again->tmpfs_count, 2);
	assert_string_equal(message_text(&decoded, again->tmpfs[1].target), "/scratch");
	assert_true(again->plan_only);
	assert_string_equal(message_text(&decoded, again->name), "tests-1");
	assert_int_equal(again->labels_count, 2);
	assert_string_equal(message_text(&decoded, again->labels[1]), "app=web");
	assert_true(again->life.linger);
	assert_int_equal(again->life.idle_ms, 300000);
	assert_int_equal(again->life.idle_action, IDLE_PAUSE);
	assert_int_equal(again->life.cleanup_ms, 1000);
	assert_int_equal(again->shares[3].target.length, 0);
	assert_int_equal(message_compare(&decoded, buffer, length), 0);
}

TEST(a_struct_that_differs_in_one_value_is_not_the_body)
{
	struct message_create *create = make_create();
	size_t length;

	assert_int_equal(message_encode(&message, buffer, sizeof buffer, &length), 0);
	create->shares[1].mode = SHARE_RW;
	assert_int_equal(message_compare(&message, buffer, length), -EBADMSG);
	create->shares[1].mode = SHARE_RO;
	create->tmpfs_count = 1;
	assert_int_equal(message_compare(&message, buffer, length), -EBADMSG);
	create->tmpfs_count = 2;
	message.arena[create->profile.offset] = 'c';
	assert_int_equal(message_compare(&message, buffer, length), -EBADMSG);
	message.arena[create->profile.offset] = 'b';
	assert_int_equal(message_compare(&message, buffer, length), 0);
	assert_int_equal(message_compare(&message, buffer, length - 1), -EBADMSG);
	buffer[length] = 0xc0;
	assert_int_equal(message_compare(&message, buffer, length + 1), -EBADMSG);
}

TEST(a_count_beyond_the_list_is_not_followed)
{
	make_create()->shares_count = MESSAGE_SHARES_MAX + 1;
	assert_not_encoded(YETT_R_TOO_LONG, "shares");
	make_create()->shares_count = UINT32_MAX;
	assert_not_encoded(YETT_R_TOO_LONG, "shares");
	make_create()->tmpfs_count = 0x80000000u;
	assert_not_encoded(YETT_R_TOO_LONG, "tmpfs");
}

TEST(a_text_outside_the_arena_is_not_followed)
{
	static const struct text outside[] = {
		{.offset = UINT32_MAX, .length = 1},
		{.offset = UINT32_MAX, .length = UINT32_MAX},
		{.offset = 0, .length = UINT32_MAX},
		{.offset = MESSAGE_ARENA_MAX, .length = 1},
		{.offset = MESSAGE_ARENA_MAX - 1, .length = 1},
		{.offset = 4000, .length = 5},
	};

	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		make_create()->shares[1].target = outside[i];
		assert_null(message_text(&message, outside[i]));
		assert_not_encoded(YETT_R_RANGE, "shares[1].target");
	}
	make_create();
	message.arena_used = MESSAGE_ARENA_MAX + 1;
	assert_null(message_text(&message, message.body.create.profile));
	assert_not_encoded(YETT_R_RANGE, "profile");
	assert_string_equal(message_text(&message, (struct text){.offset = UINT32_MAX}), "");
}

TEST(a_text_that_does_not_end_where_it_says_is_refused)
{
	struct message_create *create = make_create();

	create->profile.length--;
	assert_null(message_text(&message, create->profile));
	assert_not_encoded(YETT_R_RANGE, "profile");
	create->profile.length += 2 + 3;
	assert_string_equal(message_text(&message, create->profile), "build");
	assert_not_encoded(YETT_R_EMBEDDED_NUL, "profile");
}

TEST(a_text_must_have_its_form_in_a_struct_too)
{
	message.arena[make_create()->profile.offset] = '/';
	assert_not_encoded(YETT_R_RANGE, "profile");
	message.arena[make_create()->shares[0].target.offset] = (char)0xff;
	assert_not_encoded(YETT_R_NOT_UTF8, "shares[0].target");
	make_create()->profile = (struct text){0};
	assert_not_encoded(YETT_R_TOO_SHORT, "profile");
}

TEST(numbers_and_bools_of_a_struct_are_checked)
{
	uint8_t two = 2;

	make_create()->shares[2].mode = SHARE_STORE + 1;
	assert_not_encoded(YETT_R_RANGE, "shares[2].mode");
	make_create()->limits.memory_bytes = UINT64_MAX;
	assert_not_encoded(YETT_R_RANGE, "limits.memory_bytes");
	memcpy(&make_create()->plan_only, &two, 1);
	assert_not_encoded(YETT_R_RANGE, "plan_only");
	make_create();
	message.kind = 999;
	assert_not_encoded(YETT_R_KIND, "");
	memset(&message, 0, sizeof message);
	message.kind = MESSAGE_EXITED;
	message.body.exited.limits_hit = 16;
	assert_not_encoded(YETT_R_RESERVED, "limits_hit");
}

TEST(a_message_larger_than_the_buffer_is_not_written_beyond_it)
{
	size_t length;

	make_create();
	assert_int_equal(message_encode(&message, buffer, sizeof buffer, &length), 0);
	for (size_t size = 0; size < length; size++) {
		_cleanup_free_ uint8_t *exact = malloc(size + 1);

		assert_non_null(exact);
		exact[size] = 0x5a;
		assert_int_equal(message_encode(&message, exact, size, &length), -EMSGSIZE);
		assert_int_equal(exact[size], 0x5a);
	}
}

TEST(a_message_larger_than_a_packet_is_explained)
{
	struct yett_error error;
	char large[4001];

	memset(large, 'x', sizeof large - 1);
	large[sizeof large - 1] = '\0';
	memset(&message, 0, sizeof message);
	message.kind = MESSAGE_EXEC;
	for (unsigned i = 0; i < 17; i++)
		assert_int_equal(message_add_text(&message, large, &message.body.exec.argv[i]), 0);
	message.body.exec.argv_count = 17;
	assert_int_equal(message_check(&message, &error), YETT_E_INVALID_REQUEST);
	assert_int_equal(error.reason, YETT_R_SIZE);
	assert_string_equal(error.detail, "argv[16]");
}

TEST(the_longest_lists_of_a_message_decode)
{
	struct message_exec *exec = &message.body.exec;
	size_t length;

	memset(&message, 0, sizeof message);
	message.kind = MESSAGE_EXEC;
	exec->argv_count = MESSAGE_ARGV_MAX;
	exec->env_count = MESSAGE_ENV_MAX;
	for (unsigned i = 0; i < MESSAGE_ARGV_MAX; i++)
		assert_int_equal(message_add_text(&message, "argument", &exec->argv[i]), 0);
	for (unsigned i = 0; i < MESSAGE_ENV_MAX; i++)
		assert_int_equal(message_add_text(&message, "NAME=value", &exec->env[i]), 0);
	assert_int_equal(message_encode(&message, buffer, sizeof buffer, &length), 0);
	assert_int_equal(message_decode(MESSAGE_EXEC, buffer, length, &decoded, NULL), 0);
	assert_string_equal(message_text(&decoded, decoded.body.exec.argv[MESSAGE_ARGV_MAX - 1]),
	                    "argument");
	assert_string_equal(message_text(&decoded, decoded.body.exec.env[MESSAGE_ENV_MAX - 1]),
	                    "NAME=value");
}

TEST(texts_that_fill_the_arena_are_kept_whole)
{
	struct text text;
	char kilobyte[1025];
	unsigned added = 0;

	memset(kilobyte, 'k', sizeof kilobyte - 1);
	kilobyte[sizeof kilobyte - 1] = '\0';
	memset(&message, 0, sizeof message);
	while (message_add_text(&message, kilobyte, &text) == 0)
		added++;
	assert_int_equal(added, MESSAGE_ARENA_MAX / sizeof kilobyte);
	assert_int_equal(message_add_text(&message, kilobyte, &text), -ENOSPC);
	kilobyte[MESSAGE_ARENA_MAX - message.arena_used - 1] = '\0';
	assert_int_equal(message_add_text(&message, kilobyte, &text), 0);
	assert_string_equal(message_text(&message, text), kilobyte);
	assert_int_equal(message.arena_used, MESSAGE_ARENA_MAX);
	assert_int_equal(message_add_text(&message, "x", &text), -ENOSPC);
	assert_int_equal(message_add_text(&message, "", &text), 0);
}

TEST(decoding_with_given_memory_needs_enough_of_it)
{
	struct message_token tokens[64];
	struct message_scratch scratch = {.tokens = tokens, .capacity = ARRAY_SIZE(tokens)};
	const uint8_t ended[] = "\x81\xa6reason";
	struct yett_error error;
	size_t length;

	assert_int_equal(
		message_decode_with(&scratch, MESSAGE_ENDED, ended, sizeof ended, &decoded, &error),
		0);
	make_create();
	assert_int_equal(message_encode(&message, buffer, sizeof buffer, &length), 0);
	assert_int_equal(
		message_decode_with(&scratch, MESSAGE_CREATE, buffer, length, &decoded, &error),
		-EINVAL);
}

TEST(a_key_of_hostile_bytes_is_shown_as_question_marks)
{
	const uint8_t body[] = "\x81\xa6\n\x1b[2J\xff";
	struct yett_error error = {0};

	assert_int_equal(message_decode(MESSAGE_ENDED, body, sizeof body, &decoded, &error),
	                 YETT_E_PROTOCOL);
	assert_int_equal(error.reason, YETT_R_UNKNOWN_FIELD);
	assert_string_equal(error.detail, "??[2J?");
}

TEST(a_refusal_says_what_is_allowed)
{
	const uint8_t body[] = "\x81\xa6reason\x09";
	struct yett_error error = {0};

	assert_int_equal(message_decode(MESSAGE_ENDED, body, sizeof body - 1, &decoded, &error),
	                 YETT_E_PROTOCOL);
	assert_string_equal(error.message, "a value is outside its range (0 to 7)");
	assert_string_equal(error.detail, "reason");
}

TEST(an_unknown_kind_is_refused)
{
	struct yett_error error = {0};

	assert_int_equal(message_decode(0, (const uint8_t *)"\x80", 1, &decoded, &error),
	                 YETT_E_PROTOCOL);
	assert_int_equal(error.reason, YETT_R_KIND);
	assert_int_equal(message_body_size(0), 0);
	assert_int_equal(message_body_size(UINT32_MAX), 0);
	assert_int_equal(message_body_size(MESSAGE_CREATE), sizeof(struct message_create));
}

TEST(a_body_larger_than_a_packet_is_refused)
{
	_cleanup_free_ uint8_t *large = calloc(1, MESSAGE_PACKET_MAX + 1);
	struct yett_error error = {0};

	assert_non_null(large);
	assert_int_equal(
		message_decode(MESSAGE_CREATE, large, MESSAGE_PACKET_MAX + 1, &decoded, &error),
		YETT_E_PROTOCOL);
	assert_int_equal(error.reason, YETT_R_SIZE);
}

/* xorshift: the same "random" bodies in every run. */
static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

TEST(a_changed_body_is_refused_or_means_just_what_it_says)
{
	uint32_t seed = 20240229;
	size_t length, accepted = 0;

	make_create();
	assert_int_equal(message_encode(&message, buffer, sizeof buffer, &length), 0);
	for (unsigned i = 0; i < 200000; i++) {
		size_t cut = next_random(&seed) % 8 ? length : next_random(&seed) % length;
		_cleanup_free_ uint8_t *changed = malloc(cut + 1);

		assert_non_null(changed);
		memcpy(changed, buffer, cut);
		for (unsigned n = next_random(&seed) % 3; cut > 0 && n > 0; n--)
			changed[next_random(&seed) % cut] = (uint8_t)next_random(&seed);
		if (message_decode(MESSAGE_CREATE, changed, cut, &decoded, NULL) != 0)
			continue;
		accepted++;
		assert_int_equal(message_compare(&decoded, changed, cut), 0);
	}
	assert_true(accepted > 0);
}

TEST(a_changed_struct_is_refused_or_decodes_to_what_was_encoded)
{
	uint32_t seed = 19840101;
	size_t length, accepted = 0;

	for (unsigned i = 0; i < 20000; i++) {
		uint8_t *bytes = (uint8_t *)make_create();

		message.arena_used += next_random(&seed) % 4 ? 0 : next_random(&seed);
		for (unsigned n = 1 + next_random(&seed) % 4; n > 0; n--)
			bytes[next_random(&seed) % 512] = (uint8_t)next_random(&seed);
		if (message_encode(&message, buffer, sizeof buffer, &length) != 0)
			continue;
		accepted++;
		assert_int_equal(message_decode(MESSAGE_CREATE, buffer, length, &decoded, NULL), 0);
		assert_int_equal(message_compare(&decoded, buffer, length), 0);
	}
	assert_true(accepted > 0);
}

TEST_MAIN(NULL, NULL)
