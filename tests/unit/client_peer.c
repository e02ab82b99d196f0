/* SPDX-License-Identifier: Apache-2.0 */
/* See client_peer.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "protocol/codec.h"
#include "tests/unit/client_peer.h"

struct message *prepare(struct peer *peer, enum message_kind kind)
{
	memset(&peer->message, 0, offsetof(struct message, arena));
	peer->message.kind = kind;
	return &peer->message;
}

struct text put(struct peer *peer, const char *string)
{
	struct text text;

	assert_int_equal(message_add_text(&peer->message, string, &text), 0);
	return text;
}

void say(struct peer *peer, int fd, uint64_t sequence, const int *fds, size_t count)
{
	assert_int_equal(frame_send_message(fd, &peer->message, sequence, fds, count, MSG_DONTWAIT),
	                 0);
}

void say_hello(struct peer *peer, uint32_t low, uint32_t high)
{
	struct message_hello *hello = &prepare(peer, MESSAGE_HELLO)->body.hello;

	hello->version_min = low;
	hello->version_max = high;
	memset(hello->challenge, 0x5a, sizeof hello->challenge);
	say(peer, peer->helper, 0, NULL, 0);
}

void say_created_with(struct peer *peer, uint64_t sequence, int fd)
{
	struct message_created *created = &prepare(peer, MESSAGE_CREATED)->body.created;

	created->id = put(peer, ID);
	created->profile = put(peer, "default");
	created->private_uid = 1879048192;
	created->landlock_abi = 4;
	created->limits.memory_bytes = 1 << 26;
	say(peer, peer->helper, sequence, &fd, 1);
}

void say_created(struct peer *peer, uint64_t sequence)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	say_created_with(peer, sequence, pair[0]);
	fd_close(pair[0]);
	fd_close(peer->init);
	peer->init = pair[1];
}

void say_error(struct peer *peer, int fd, uint64_t sequence, enum yett_code code,
               const char *detail)
{
	struct message_error *e = &prepare(peer, MESSAGE_ERROR)->body.error;

	e->code = code;
	e->message = put(peer, "no\033[2J");
	e->detail = put(peer, detail);
	e->error_number = code == YETT_E_COMMAND_FAILED ? ENOENT : 0;
	say(peer, fd, sequence, NULL, 0);
}

void say_ended(struct peer *peer, uint64_t sequence, enum ended_reason reason)
{
	prepare(peer, MESSAGE_ENDED)->body.ended.reason = reason;
	say(peer, peer->helper, sequence, NULL, 0);
}

void say_started(struct peer *peer, uint64_t sequence)
{
	prepare(peer, MESSAGE_STARTED)->body.started = (struct message_started){sequence, 7};
	say(peer, peer->init, sequence, NULL, 0);
}

void say_exited_with(struct peer *peer, uint64_t sequence, const struct message_exited *exited)
{
	prepare(peer, MESSAGE_EXITED)->body.exited = *exited;
	say(peer, peer->init, sequence, NULL, 0);
}

void say_exited(struct peer *peer, uint64_t sequence, uint32_t status)
{
	say_exited_with(peer, sequence,
	                &(struct message_exited){
				.status = status, .limits_hit = LIMIT_PIDS, .wall_us = 1234});
}

void hear(struct peer *peer, int fd)
{
	struct yett_error error;

	frame_close_fds(&peer->frame);
	assert_int_equal(frame_receive(fd, &peer->frame, MSG_DONTWAIT), 1);
	assert_int_equal(envelope_read(peer->frame.bytes, peer->frame.length, peer->frame.fd_count,
	                               &peer->envelope, &error),
	                 0);
	assert_int_equal(message_decode(peer->envelope.kind,
	                                peer->frame.bytes + envelope_size(peer->envelope.kind),
	                                peer->envelope.body_length, &peer->message, &error),
	                 0);
}

int peer_take(struct peer *peer, int fd)
{
	const struct yett_connect_options options = {
		.size = sizeof options, .signer = peer->signer, .timeout_ms = SHORT_MS};

	return connection_take(fd, &options, YETT_START_PERSONAL, &peer->connection, &peer->error);
}

int peer_make(void **state)
{
	static const uint8_t seed[KEY_SEED_SIZE] = {1, 2, 3};
	struct peer *peer = calloc(1, sizeof *peer);

	peer->helper = peer->init = -1;
	assert_int_equal(signer_from_seed(seed, &peer->signer, &peer->error), 0);
	*state = peer;
	return 0;
}

int peer_pair(struct peer *peer)
{
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	peer->helper = pair[0];
	return pair[1];
}

void peer_connect(struct peer *peer)
{
	int fd = peer_pair(peer);

	say_hello(peer, 1, 1);
	assert_int_equal(peer_take(peer, fd), 0);
}

void peer_create(struct peer *peer)
{
	peer_connect(peer);
	say_created(peer, 1);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error),
	                 0);
	hear(peer, peer->helper);
}

int peer_free(void **state)
{
	struct peer *peer = *state;

	fd_close(peer->helper);
	fd_close(peer->init);
	(void)yett_sandbox_end(peer->sandbox, NULL);
	yett_sandbox_close(peer->sandbox);
	yett_connection_close(peer->connection);
	yett_signer_free(peer->signer);
	frame_close_fds(&peer->frame);
	free(peer);
	return 0;
}
