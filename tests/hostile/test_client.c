/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that lies: an ordinary user with an enrolled key, against a running service.
 *
 * Each lie must be refused with its own code and reason, and must harm nobody: the next good
 * request is served, here and elsewhere. Started by test_client.py, which makes the service;
 * YETT_SOCKET, YETT_TEST_SEED, YETT_TEST_VECTORS.
 */
#include <string.h>

#include "tests/hostile/client.h"
#include "tests/hostile/vectors.h"
#include "tests/support/testing.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>

static struct vector *vectors;

/* --- order, connection and key --- */

TEST(a_replayed_request_is_refused)
{
	struct wire wire = wire_connect();
	int channel;

	wire_prepare_good(&wire);
	wire_send(&wire);
	channel = wire_expect_created(&wire);
	wire_send(&wire); /* the same bytes */
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_REPLAYED);
	wire_finish(&wire, channel);
	wire_send(&wire); /* nor when its sandbox is gone */
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_REPLAYED);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

TEST(a_refused_request_is_not_accepted_later)
{
	struct wire wire = wire_connect();

	(void)wire_create("no-such-profile");
	wire_encode(&wire);
	wire_seal(&wire);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_PERMISSION_DENIED, YETT_R_NONE);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_REPLAYED);
	wire_close(&wire);
}

TEST(a_reordered_request_is_refused)
{
	static const uint64_t numbers[] = {0, 2, 3, UINT64_MAX};
	struct wire wire = wire_connect();

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		wire.sequence = numbers[i] - 1;
		wire_prepare_good(&wire);
		wire_send(&wire);
		wire_expect_error(&wire, numbers[i], YETT_E_BAD_SIGNATURE,
		                  numbers[i] ? YETT_R_OUT_OF_ORDER : YETT_R_REPLAYED);
	}
	wire.sequence = 0;
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

TEST(a_request_for_another_connection_is_refused)
{
	struct wire mine = wire_connect(), other = wire_connect();

	wire_prepare_good(&other);
	wire_send(&mine);
	wire_expect_error(&mine, 1, YETT_E_BAD_SIGNATURE, YETT_R_OTHER_CONNECTION);
	/* with this connection's tag but signed over the other one's challenge */
	wire_prepare_good(&mine);
	wire_seal_with(other.challenge, wire_secret);
	wire_send(&mine);
	wire_expect_error(&mine, 1, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
	wire_expect_serving_here(&mine);
	other.sequence = 0;
	wire_expect_serving_here(&other);
	wire_close(&mine);
	wire_close(&other);
}

TEST(a_key_that_is_not_enrolled_is_refused)
{
	uint8_t public_key[crypto_sign_PUBLICKEYBYTES], secret[crypto_sign_SECRETKEYBYTES];
	struct wire wire = wire_connect();

	(void)crypto_sign_keypair(public_key, secret);
	wire_prepare_good(&wire);
	memcpy(wire_packet.envelope.key, public_key, sizeof public_key);
	wire_seal_with(wire.challenge, secret);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_UNKNOWN_KEY);
	/* and one that is, with the signature of one that is not */
	wire_prepare_good(&wire);
	wire_seal_with(wire.challenge, secret);
	wire_send(&wire);
	wire_expect_error(&wire, 2, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

/* Points of small order, with which a signature can be made that fits many messages. RFC 8032, 8.4;
 * libsodium refuses them. */
TEST(a_weak_key_is_refused)
{
	static const uint8_t weak[][32] = {
		{0},
		{1},
		{0xec, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	         0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
	         0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f},
	};
	struct wire wire = wire_connect();

	for (size_t i = 0; i < ARRAY_SIZE(weak); i++) {
		wire_prepare_good(&wire);
		memcpy(wire_packet.envelope.key, weak[i], sizeof weak[i]);
		memset(wire_packet.envelope.signature, 0, sizeof wire_packet.envelope.signature);
		memcpy(wire_packet.envelope.signature, weak[i], sizeof weak[i]);
		envelope_write(&wire_packet.envelope, wire_packet.bytes);
		wire_send(&wire);
		wire_expect_error(&wire, i + 1, YETT_E_BAD_SIGNATURE, YETT_R_WRONG_SIGNATURE);
	}
	wire_close(&wire);
}

/* Every byte behind the header, one after another: tag, key, signature, body. */
TEST(a_changed_byte_is_noticed)
{
	const size_t tag = ENVELOPE_HEADER_SIZE, key = tag + ENVELOPE_TAG_SIZE;
	struct wire wire = wire_connect();

	wire.sequence = 0;
	wire_prepare_good(&wire);
	for (size_t at = tag; at < wire_packet.length; at++) {
		uint64_t sequence = wire.sequence;
		enum yett_reason reason =
			at < key ? YETT_R_OTHER_CONNECTION : YETT_R_WRONG_SIGNATURE;

		wire_packet.bytes[at] ^= 0x10;
		wire_send(&wire);
		wire_expect_error(&wire, sequence, YETT_E_BAD_SIGNATURE, reason);
		if (at < key)
			wire.sequence--; /* it did not count as this connection's */
		wire_prepare_good(&wire);
	}
	wire_send(&wire);
	wire_finish(&wire, wire_expect_created(&wire));
	wire_close(&wire);
}

/* --- packets --- */

TEST(a_request_cut_anywhere_is_refused)
{
	struct wire wire = wire_connect();
	size_t whole;

	wire_prepare_good(&wire);
	whole = wire_packet.length;
	for (wire_packet.length = 1; wire_packet.length < whole; wire_packet.length++) {
		wire_send(&wire);
		wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	}
	wire_send(&wire); /* now whole: nothing of all that counted */
	wire_finish(&wire, wire_expect_created(&wire));
	wire_close(&wire);
}

TEST(a_request_with_something_behind_it_is_refused)
{
	struct wire wire = wire_connect();

	wire_prepare_good(&wire);
	wire_packet.bytes[wire_packet.length++] = 0;
	wire_send(&wire);
	wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_TRAILING);
	/* inside the signed body it is the decoder that refuses it */
	wire.sequence = 0;
	wire_prepare_good(&wire);
	wire_packet.body[wire_packet.body_length++] = 0xc0;
	wire_packet.envelope.body_length++;
	wire_seal(&wire);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_PROTOCOL, YETT_R_TRAILING);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

TEST(kinds_that_are_not_for_the_helper_are_refused)
{
#define X(name, number, body) number,
	static const uint16_t kinds[] = {MESSAGE_KINDS(X)};
#undef X
	struct wire wire = wire_connect();

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (kinds[i] == MESSAGE_CREATE || kinds[i] == MESSAGE_MANAGE ||
		    kinds[i] == MESSAGE_RELAY || kinds[i] == MESSAGE_MOUNT)
			continue;
		wire.sequence = 6;
		wire_prepare_good(&wire);
		wire_packet.envelope.kind = kinds[i];
		wire_seal(&wire);
		wire_send(&wire);
		wire_expect_error(&wire, 7, YETT_E_PROTOCOL, YETT_R_KIND);
	}
	wire.sequence = 0;
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

TEST(a_create_without_a_signature_is_refused)
{
	static uint8_t body[512];
	struct wire wire = wire_connect();
	struct envelope *envelope = &wire_packet.envelope;

	wire_prepare_good(&wire);
	memmove(wire_packet.bytes + ENVELOPE_HEADER_SIZE,
	        wire_packet.bytes + envelope_size(MESSAGE_CREATE), wire_packet.body_length);
	wire_packet.length -= ENVELOPE_SIGNED_SIZE;
	wire_send(&wire);
	wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	/* what stands where the signature should be is taken for one */
	wire.sequence = 0;
	wire_set_body(&wire, body, sizeof body);
	wire_seal(&wire);
	envelope->body_length -= ENVELOPE_SIGNED_SIZE;
	envelope_write(envelope, wire_packet.bytes);
	memset(wire_packet.bytes + ENVELOPE_HEADER_SIZE, 0, sizeof body);
	wire_packet.length -= ENVELOPE_SIGNED_SIZE;
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_OTHER_CONNECTION);
	wire_close(&wire);
}

TEST(a_packet_beyond_64_KiB_is_refused)
{
	struct wire wire = wire_connect();

	for (size_t extra = 1; extra <= MESSAGE_PACKET_MAX; extra += MESSAGE_PACKET_MAX - 1) {
		wire_prepare_good(&wire);
		wire_packet.length = MESSAGE_PACKET_MAX + extra;
		wire_send(&wire);
		wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_SIZE);
	}
	/* the largest that there can be comes through to the decoder */
	wire.sequence = 0;
	memset(wire_packet.body, 0xa0, MESSAGE_PACKET_MAX);
	wire_set_body(&wire, wire_packet.body, MESSAGE_PACKET_MAX - envelope_size(MESSAGE_CREATE));
	wire_seal(&wire);
	wire_send(&wire);
	wire_expect_error(&wire, 1, YETT_E_PROTOCOL, YETT_R_TRAILING);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

TEST(an_empty_packet_ends_only_its_connection)
{
	struct wire wire = wire_connect();

	assert_return_code(send(wire.socket, "", 0, MSG_NOSIGNAL), errno);
	wire_expect_end(&wire);
	wire_close(&wire);
	wire_expect_serving();
}

/* --- the protocol's vectors --- */

static void a_vector_is_refused(void **state)
{
	const struct vector *v = *state;
	struct wire wire = wire_connect();
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (v->is_create) {
		wire_set_body(&wire, v->content, v->length);
		wire_seal(&wire);
		/* a body that is larger than a packet can be does not get as far as its own rule */
		if (wire_packet.length > MESSAGE_PACKET_MAX) {
			wire_send(&wire);
			wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_SIZE);
			wire.sequence = 0;
		} else {
			wire_send(&wire);
			wire_expect_error(&wire, 1, YETT_E_PROTOCOL, v->reason);
			if (v->field[0])
				wire_expect_text(v->field);
		}
		wire_expect_serving_here(&wire);
	} else if (v->length == 0) {
		print_message("# an empty packet is the end of a connection\n");
	} else {
		memcpy(wire_packet.bytes, v->content, v->length);
		wire_packet.length = v->length;
		wire_set_fds(null, v->fd_count);
		if (v->fd_count > 253) { /* unix(7): the kernel sends no more */
			assert_int_equal(wire_try_send(&wire, 0), -EINVAL);
		} else if (v->reason == YETT_R_FD_COUNT && v->fd_count > 0 &&
		           envelope_stated_fds(v->content, v->length) > 0) {
			/* how many there are, who takes them finds: before that, that nobody signed
			 * it */
			wire_send(&wire);
			wire_expect_error(&wire, 1, YETT_E_BAD_SIGNATURE, YETT_R_OTHER_CONNECTION);
		} else {
			wire_send(&wire);
			wire_expect_error(&wire, 0, YETT_E_PROTOCOL, v->reason);
		}
		wire_expect_serving_here(&wire);
	}
	close(null);
	wire_close(&wire);
}

static void print_key(void)
{
	char text[sodium_base64_ENCODED_LEN(sizeof wire_public, sodium_base64_VARIANT_ORIGINAL)];

	(void)sodium_bin2base64(text, sizeof text, wire_public, sizeof wire_public,
	                        sodium_base64_VARIANT_ORIGINAL);
	(void)printf("ed25519 %s hostile\n", text);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest *shares, *peers;
	struct CMUnitTest *all;
	size_t shares_count, peers_count, count, used = testing_count;

	wire_load_key();
	if (argc == 2 && strcmp(argv[1], "--key") == 0)
		return print_key(), 0;
	shares = client_shares(&shares_count);
	peers = client_peers(&peers_count);
	count = vectors_read(getenv("YETT_TEST_VECTORS"), &vectors);
	all = calloc(testing_count + shares_count + count + peers_count, sizeof *all);
	if (!all || count < 60)
		return 1;
	memcpy(all, testing_tests, testing_count * sizeof *all);
	memcpy(all + used, shares, shares_count * sizeof *all);
	used += shares_count;
	for (size_t i = 0; i < count; i++)
		all[used++] = (struct CMUnitTest){vectors[i].name, a_vector_is_refused, NULL, NULL,
		                                  &vectors[i]};
	memcpy(all + used, peers, peers_count * sizeof *all);
	return _cmocka_run_group_tests("hostile-client", all, used + peers_count, NULL, NULL);
}
