/* SPDX-License-Identifier: Apache-2.0 */
/* See wire.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/hostile/wire.h"
#include "tests/support/waiting.h"

#include "base/clock.h"
#include "base/error_text.h"
#include "protocol/codec.h"
#include "protocol/frame_message.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

struct message wire_message;
struct packet wire_packet;
uint8_t wire_public[crypto_sign_PUBLICKEYBYTES], wire_secret[crypto_sign_SECRETKEYBYTES];

static struct frame frame;

void wire_load_key(void)
{
	const char *text = getenv("YETT_TEST_SEED");
	uint8_t seed[crypto_sign_SEEDBYTES];
	size_t length;

	if (sodium_init() < 0 || !text ||
	    sodium_hex2bin(seed, sizeof seed, text, strlen(text), NULL, &length, NULL) < 0 ||
	    length != sizeof seed) {
		(void)fprintf(stderr, "YETT_TEST_SEED must be 64 hexadecimal digits\n");
		exit(2);
	}
	(void)crypto_sign_seed_keypair(wire_public, wire_secret, seed);
}

int wire_try_connect(struct wire *ret_wire)
{
	struct wire wire = {.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	uint64_t sequence;
	uint32_t kind;

	assert_return_code(wire.socket, errno);
	(void)snprintf(address.sun_path, sizeof address.sun_path, "%s", getenv("YETT_SOCKET"));
	if (connect(wire.socket, (const struct sockaddr *)&address, sizeof address) < 0) {
		int r = -errno;

		wire_close(&wire);
		return r;
	}
	kind = wire_receive(&wire, &sequence, NULL);
	if (kind != MESSAGE_HELLO) {
		wire_close(&wire);
		return kind == MESSAGE_ERROR ? -ECONNREFUSED : -EPIPE;
	}
	assert_int_equal(sequence, 0);
	memcpy(wire.challenge, wire_message.body.hello.challenge, sizeof wire.challenge);
	*ret_wire = wire;
	return 0;
}

struct wire wire_connect(void)
{
	struct wire wire;
	uint64_t end_ms = clock_now_ms() + (uint64_t)waiting_deadline_ms();
	int r = wire_try_connect(&wire);

	/* as libyett does when it is told so; and connections that were closed may not be gone yet
	 */
	while (r == -ECONNREFUSED && clock_now_ms() < end_ms) {
		(void)poll(NULL, 0, 50);
		r = wire_try_connect(&wire);
	}
	assert_int_equal(r, 0);
	return wire;
}

void wire_close(struct wire *wire)
{
	wire->socket = fd_close(wire->socket);
}

struct message_create *wire_create(const char *profile)
{
	memset(&wire_message, 0, offsetof(struct message, arena));
	wire_message.kind = MESSAGE_CREATE;
	assert_int_equal(
		message_add_text(&wire_message, profile, &wire_message.body.create.profile), 0);
	return &wire_message.body.create;
}

void wire_add_share(const char *target, unsigned fd, enum share_mode mode)
{
	struct message_create *create = &wire_message.body.create;
	struct message_share *share = &create->shares[create->shares_count++];

	*share = (struct message_share){.fd = fd, .mode = mode};
	assert_int_equal(message_add_text(&wire_message, target, &share->target), 0);
}

void wire_encode(struct wire *wire)
{
	static uint8_t body[MESSAGE_PACKET_MAX];
	size_t length;

	assert_int_equal(message_encode(&wire_message, body, sizeof body, &length), 0);
	wire_set_body(wire, body, length);
}

void wire_set_body(struct wire *wire, const void *body, size_t length)
{
	assert_true(length <= sizeof wire_packet.body);
	if (length)
		memcpy(wire_packet.body, body, length);
	wire_packet.body_length = length;
	wire_packet.fd_count = 0;
	wire_packet.envelope = (struct envelope){.kind = MESSAGE_CREATE,
	                                         .sequence = ++wire->sequence,
	                                         .body_length = (uint32_t)length,
	                                         .is_signed = true};
	memcpy(wire_packet.envelope.tag, wire->challenge, sizeof wire_packet.envelope.tag);
	memcpy(wire_packet.envelope.key, wire_public, sizeof wire_packet.envelope.key);
}

void wire_seal_with(const uint8_t challenge[MESSAGE_CHALLENGE_SIZE], const uint8_t *secret)
{
	static uint8_t signed_bytes[ENVELOPE_SIGNED_MAX];
	struct packet *p = &wire_packet;
	size_t head = envelope_size(p->envelope.kind), length = p->body_length;

	/* a body that is too large is sent all the same, with the signature of its beginning */
	if (length > MESSAGE_PACKET_MAX)
		length = MESSAGE_PACKET_MAX;
	p->envelope.fd_count = (uint8_t)p->fd_count;
	length = envelope_signed_bytes(&p->envelope, challenge, p->body, length, signed_bytes);
	assert_int_equal(
		crypto_sign_detached(p->envelope.signature, NULL, signed_bytes, length, secret), 0);
	envelope_write(&p->envelope, p->bytes);
	memcpy(p->bytes + head, p->body, p->body_length);
	p->length = head + p->body_length;
}

void wire_seal(const struct wire *wire)
{
	wire_seal_with(wire->challenge, wire_secret);
}

int wire_try_send(const struct wire *wire, int flags)
{
	const struct packet *p = &wire_packet;
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int) * WIRE_FDS_MAX)];
	} control = {0};
	struct iovec part = {.iov_base = wire_packet.bytes, .iov_len = p->length};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	if (p->fd_count) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * p->fd_count);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * p->fd_count);
		memcpy(CMSG_DATA(&control.header), p->fds, sizeof(int) * p->fd_count);
	}
	return sendmsg(wire->socket, &message, MSG_NOSIGNAL | flags) < 0 ? -errno : 0;
}

void wire_send(const struct wire *wire)
{
	int r = wire_try_send(wire, 0);

	if (r < 0)
		fail_msg("the packet could not be sent: %s", strerror(-r));
}

uint32_t wire_receive(const struct wire *wire, uint64_t *ret_sequence, int *ret_fd)
{
	struct pollfd wait = {.fd = wire->socket, .events = POLLIN};
	struct envelope envelope;
	struct yett_error error = {0};
	int r;

	assert_int_equal(poll(&wait, 1, waiting_deadline_ms()), 1);
	r = frame_receive(wire->socket, &frame, 0);
	if (r == 0 || r == -ECONNRESET)
		return 0;
	assert_int_equal(r, 1);
	assert_int_equal(
		envelope_read(frame.bytes, frame.length, frame.fd_count, &envelope, &error), 0);
	assert_false(envelope.is_signed);
	assert_int_equal(message_decode(envelope.kind, frame.bytes + envelope_size(envelope.kind),
	                                envelope.body_length, &wire_message, &error),
	                 0);
	if (ret_fd && frame.fd_count == 1)
		*ret_fd = steal_fd(&frame.fds[0]);
	frame_close_fds(&frame);
	*ret_sequence = envelope.sequence;
	return envelope.kind;
}

void wire_expect_error(const struct wire *wire, uint64_t sequence, enum yett_code code,
                       enum yett_reason reason)
{
	uint64_t answered = 0;
	uint32_t kind = wire_receive(wire, &answered, NULL);
	const struct message_error *e = &wire_message.body.error;

	if (kind != MESSAGE_ERROR)
		fail_msg("message %u came instead of the error %s (%s)", kind,
		         error_code_text(code), error_reason_text(reason));
	if (e->code != code || e->reason != reason || answered != sequence ||
	    !message_text(&wire_message, e->message)[0])
		fail_msg("error %u reason %u for %ju instead of %u, %u, %ju: %s; %s", e->code,
		         e->reason, (uintmax_t)answered, code, reason, (uintmax_t)sequence,
		         message_text(&wire_message, e->message),
		         message_text(&wire_message, e->detail));
	assert_int_equal(e->retryable, error_code_retryable(code));
}

void wire_expect_text(const char *part)
{
	const struct message_error *e = &wire_message.body.error;

	if (!strstr(message_text(&wire_message, e->message), part) &&
	    !strstr(message_text(&wire_message, e->detail), part))
		fail_msg("'%s' is neither in '%s' nor in '%s'", part,
		         message_text(&wire_message, e->message),
		         message_text(&wire_message, e->detail));
}

void wire_expect_end(const struct wire *wire)
{
	uint64_t sequence;

	assert_int_equal(wire_receive(wire, &sequence, NULL), 0);
}

int wire_expect_created(const struct wire *wire)
{
	uint64_t sequence = 0;
	int channel = -1;
	uint32_t kind = wire_receive(wire, &sequence, &channel);

	if (kind == MESSAGE_ERROR)
		fail_msg("refused: %s; %s",
		         message_text(&wire_message, wire_message.body.error.message),
		         message_text(&wire_message, wire_message.body.error.detail));
	assert_int_equal(kind, MESSAGE_CREATED);
	assert_int_equal(sequence, wire->sequence);
	assert_return_code(channel, EBADF);
	return channel;
}

void wire_finish(const struct wire *wire, int channel)
{
	uint64_t sequence;

	(void)close(channel);
	assert_int_equal(wire_receive(wire, &sequence, NULL), MESSAGE_ENDED);
	assert_int_equal(wire_message.body.ended.reason, ENDED_CLOSED);
}

void wire_expect_serving_here(struct wire *wire)
{
	(void)wire_create("default");
	wire_encode(wire);
	wire_seal(wire);
	wire_send(wire);
	wire_finish(wire, wire_expect_created(wire));
}

void wire_expect_serving(void)
{
	struct wire wire = wire_connect();

	wire_expect_serving_here(&wire);
	wire_close(&wire);
}

void wire_prepare_good(struct wire *wire)
{
	(void)wire_create("default");
	wire_encode(wire);
	wire_seal(wire);
}

void wire_set_fds(int fd, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wire_packet.fds[i] = fd;
	wire_packet.fd_count = count;
}

void wire_expect_share_refused(struct wire *wire, const int *fds, size_t count, enum yett_code code,
                               const char *text)
{
	wire_encode(wire);
	for (size_t i = 0; i < count; i++)
		wire_packet.fds[i] = fds[i];
	wire_packet.fd_count = count;
	wire_seal(wire);
	wire_send(wire);
	wire_expect_error(wire, wire->sequence, code, YETT_R_NONE);
	wire_expect_text(text);
}

int wire_open_directory(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		fail_msg("%s: %s", path, strerror(errno));
	return fd;
}
