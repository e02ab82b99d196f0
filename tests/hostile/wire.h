/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's half of the protocol, for a client that lies: every part of a packet can be had
 * wrong.
 *
 * Linked into test programs that run as an ordinary user against a service (YETT_SOCKET). A helper
 * that does not get what it expects fails the test that called it. Nothing of libyett is used: it
 * would not send most of this.
 */
#pragma once

#include "protocol/envelope.h"
#include "protocol/message.h"

#include "base/error.h"

#include <sodium.h>

#define WIRE_FDS_MAX 300

struct wire {
	int socket;
	uint8_t challenge[MESSAGE_CHALLENGE_SIZE];
	uint64_t sequence; /* of the last request sent */
};

/* A packet in the making: change what is to be wrong, then wire_seal() and wire_send(). */
struct packet {
	struct envelope envelope;
	uint8_t bytes[4 * MESSAGE_PACKET_MAX];
	size_t length; /* of all of it; 0 until it is sealed */
	uint8_t body[2 * MESSAGE_PACKET_MAX];
	size_t body_length;
	int fds[WIRE_FDS_MAX]; /* borrowed */
	size_t fd_count;
};

extern struct message wire_message; /* the last one received, or in the making */
extern struct packet wire_packet;   /* likewise */
extern uint8_t wire_public[crypto_sign_PUBLICKEYBYTES], wire_secret[crypto_sign_SECRETKEYBYTES];

/* The key that YETT_TEST_SEED (64 hexadecimal digits) stands for. */
void wire_load_key(void);

/* Connects and takes the hello. -errno from wire_try_connect() when the helper hangs up or says an
 * error instead. */
int wire_try_connect(struct wire *ret_wire);
struct wire wire_connect(void);
void wire_close(struct wire *wire);

/* Starts a create in wire_message: profile, nothing else. */
struct message_create *wire_create(const char *profile);
void wire_add_share(const char *target, unsigned fd, enum share_mode mode);

/* Puts the message's encoding (or bytes of one's own) into wire_packet with the next sequence, and
 * signs it. */
void wire_encode(struct wire *wire);
void wire_set_body(struct wire *wire, const void *body, size_t length);
void wire_seal(const struct wire *wire);
void wire_seal_with(const uint8_t challenge[MESSAGE_CHALLENGE_SIZE], const uint8_t *secret);

/* Sends wire_packet as it is. wire_try_send(): 0 or -errno; `flags` for sendmsg(2). */
void wire_send(const struct wire *wire);
int wire_try_send(const struct wire *wire, int flags);

/* What comes next: the kind of message, now in wire_message; 0 at the end of the connection. A
 * descriptor goes to ret_fd. */
uint32_t wire_receive(const struct wire *wire, uint64_t *ret_sequence, int *ret_fd);
void wire_expect_error(const struct wire *wire, uint64_t sequence, enum yett_code code,
                       enum yett_reason reason);
void wire_expect_text(const char *part); /* in message or detail of the error just received */
void wire_expect_end(const struct wire *wire);
int wire_expect_created(const struct wire *wire); /* the exec channel */

/* Waits until the sandbox of `channel` (consumed) is gone. */
void wire_finish(const struct wire *wire, int channel);

/* A good request is served: on this connection, and on a new one. */
void wire_expect_serving_here(struct wire *wire);
void wire_expect_serving(void);

/* A request that would be served, sealed. */
void wire_prepare_good(struct wire *wire);

/* The same descriptor (borrowed) so many times. */
void wire_set_fds(int fd, size_t count);

/* Sends a create with the shares that were added and one descriptor for each; the error must be
 * this one. */
void wire_expect_share_refused(struct wire *wire, const int *fds, size_t count, enum yett_code code,
                               const char *text);

int wire_open_directory(const char *path);
