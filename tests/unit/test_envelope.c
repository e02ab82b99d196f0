/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed part of packets, and the bytes that signatures cover. The vectors say what is refused,
 * and why. */

#include <string.h>

#include "protocol/envelope.h"
#include "tests/support/testing.h"

static uint8_t packet[MESSAGE_PACKET_MAX + 1], first[ENVELOPE_SIGNED_MAX],
	second[ENVELOPE_SIGNED_MAX];

static struct envelope make_envelope(void)
{
	struct envelope e = {.kind = MESSAGE_CREATE,
	                     .fd_count = 3,
	                     .sequence = 0x0102030405060708,
	                     .body_length = 5,
	                     .is_signed = true};

	memset(e.tag, 't', sizeof e.tag);
	memset(e.key, 'k', sizeof e.key);
	memset(e.signature, 's', sizeof e.signature);
	return e;
}

TEST(an_envelope_stands_where_the_page_says)
{
	struct envelope e = make_envelope();

	envelope_write(&e, packet);
	assert_memory_equal(
		packet, "YETT\x01\x03\x02\x00\x08\x07\x06\x05\x04\x03\x02\x01\x05\x00\x00\x00", 20);
	for (size_t i = 0; i < 104; i++)
		assert_int_equal(packet[20 + i], i < 8 ? 't' : i < 40 ? 'k' : 's');
	assert_int_equal(envelope_size(MESSAGE_CREATE), 124);
	assert_int_equal(envelope_size(MESSAGE_EXEC), 20);
}

TEST(what_is_written_is_read_again)
{
	struct envelope e = make_envelope(), again;
	struct yett_error error;

	envelope_write(&e, packet);
	assert_int_equal(envelope_read(packet, 124 + 5, 3, &again, &error), 0);
	assert_int_equal(again.kind, e.kind);
	assert_int_equal(again.fd_count, e.fd_count);
	assert_true(again.sequence == e.sequence);
	assert_int_equal(again.body_length, 5);
	assert_true(again.is_signed);
	assert_memory_equal(again.tag, e.tag, sizeof e.tag);
	assert_memory_equal(again.key, e.key, sizeof e.key);
	assert_memory_equal(again.signature, e.signature, sizeof e.signature);
}

TEST(no_length_but_the_stated_one_is_accepted)
{
	struct envelope e = make_envelope(), again;
	struct yett_error error;

	envelope_write(&e, packet);
	for (size_t length = 0; length <= 300; length++) {
		int r = envelope_read(packet, length, 3, &again, &error);

		assert_int_equal(r, length == 129 ? 0 : YETT_E_PROTOCOL);
		if (length != 129)
			assert_int_equal(error.reason,
			                 length < 129 ? YETT_R_TRUNCATED : YETT_R_TRAILING);
	}
	assert_int_equal(envelope_read(packet, MESSAGE_PACKET_MAX + 1, 3, &again, &error),
	                 YETT_E_PROTOCOL);
	assert_int_equal(error.reason, YETT_R_SIZE);
}

TEST(a_refused_envelope_leaves_the_output_alone)
{
	struct envelope e = make_envelope(), untouched, copy;

	memset(&untouched, 0x5a, sizeof untouched);
	copy = untouched;
	envelope_write(&e, packet);
	assert_int_equal(envelope_read(packet, 129, 4, &untouched, NULL), YETT_E_PROTOCOL);
	assert_memory_equal(&untouched, &copy, sizeof copy);
}

TEST(only_a_create_is_signed)
{
	for (unsigned kind = 0; kind <= UINT16_MAX; kind++)
		assert_int_equal(envelope_kind_is_signed((uint16_t)kind),
		                 kind == MESSAGE_CREATE || kind == MESSAGE_MANAGE ||
		                         kind == MESSAGE_RELAY || kind == MESSAGE_MOUNT);
}

TEST(the_signed_bytes_are_those_of_the_page)
{
	struct envelope e = make_envelope();
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE];

	memset(challenge, 'c', sizeof challenge);
	assert_int_equal(envelope_signed_bytes(&e, challenge, (const uint8_t *)"hello", 5, first),
	                 59 + 5);
	assert_memory_equal(first, "yett request v1", 16);
	assert_memory_equal(first + 16, challenge, 32);
	assert_memory_equal(first + 48, "\x02\x00\x08\x07\x06\x05\x04\x03\x02\x01\x03hello", 16);
}

/* A request may not be moved to another place, connection or purpose: each changes the bytes. */
TEST(every_part_of_a_request_changes_the_signed_bytes)
{
	struct envelope e[5];
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE] = {0}, other[MESSAGE_CHALLENGE_SIZE] = {[31] = 1};
	const uint8_t body[] = "body", other_body[] = "bodY";
	size_t length;

	for (size_t i = 0; i < 5; i++)
		e[i] = make_envelope();
	e[1].sequence++;
	e[2].fd_count++;
	e[3].kind = MESSAGE_EXEC;
	length = envelope_signed_bytes(&e[0], challenge, body, 4, first);
	for (size_t i = 1; i < 4; i++) {
		assert_int_equal(envelope_signed_bytes(&e[i], challenge, body, 4, second), length);
		assert_memory_not_equal(first, second, length);
	}
	(void)envelope_signed_bytes(&e[4], other, body, 4, second);
	assert_memory_not_equal(first, second, length);
	(void)envelope_signed_bytes(&e[4], challenge, other_body, 4, second);
	assert_memory_not_equal(first, second, length);
	assert_int_not_equal(envelope_signed_bytes(&e[4], challenge, body, 3, second), length);
	assert_true(envelope_signed_bytes(&e[4], challenge, packet, MESSAGE_PACKET_MAX, second) <=
	            sizeof second);
}

TEST_MAIN(NULL, NULL)
