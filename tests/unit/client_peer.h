/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper and an init that a test plays itself: packets queue in a socket pair, so an answer can
 * be put there before it is asked for, and no thread is needed.
 */
#pragma once

#include "libclient/sandbox.h"
#include "libclient/signer.h"

/* Options of a program that sets their size, as elements of an array can be written. */
#define SHARE(...)                                             \
	{                                                      \
		.size = sizeof(struct yett_share), __VA_ARGS__ \
	}
#define SANDBOX(...)                                                     \
	{                                                                \
		.size = sizeof(struct yett_sandbox_options), __VA_ARGS__ \
	}
#define COMMAND(...)                                                     \
	{                                                                \
		.size = sizeof(struct yett_command_options), __VA_ARGS__ \
	}

#define ID       "0123456789abcdef"
#define SHORT_MS 50

/* The other side of everything: the helper's end of the connection, init's end of the channel. */
struct peer {
	int helper, init;
	struct yett_signer *signer;
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	struct yett_error error;
	struct message message;
	struct frame frame;
	struct envelope envelope;
};

/* For cmocka: a peer without a connection, and its end. */
int peer_make(void **state);
int peer_free(void **state);

/* A socket pair: our end is peer->helper, the library's is returned. */
int peer_pair(struct peer *peer);

/* connection_take() on the library's end, with a short deadline. */
int peer_take(struct peer *peer, int fd);

/* A connection, and one with a sandbox whose create has been heard. */
void peer_connect(struct peer *peer);
void peer_create(struct peer *peer);

/* peer->message, emptied for a kind; put() adds a text to it, say() sends it. */
struct message *prepare(struct peer *peer, enum message_kind kind);
struct text put(struct peer *peer, const char *string);
void say(struct peer *peer, int fd, uint64_t sequence, const int *fds, size_t count);

void say_hello(struct peer *peer, uint32_t low, uint32_t high);
void say_created_with(struct peer *peer, uint64_t sequence, int fd);
void say_created(struct peer *peer,
                 uint64_t sequence); /* with a channel whose other end is peer->init */
void say_error(struct peer *peer, int fd, uint64_t sequence, enum yett_code code,
               const char *detail);
void say_ended(struct peer *peer, uint64_t sequence, enum ended_reason reason);
void say_started(struct peer *peer, uint64_t sequence);
void say_exited(struct peer *peer, uint64_t sequence, uint32_t status);
void say_exited_with(struct peer *peer, uint64_t sequence, const struct message_exited *exited);

/* Takes what the library has sent into frame, envelope and message. */
void hear(struct peer *peer, int fd);
