/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exec channel: receives the client's packets and sends results.
 *
 * Runs as init, unprivileged. Everything that arrives is hostile: a malformed packet is answered
 * with an error and dropped, and the sandbox lives on. init stops reading from a client that does
 * not read, but keeps all of that client's results.
 */
#pragma once

#include "programs/inside/init/commands.h"
#include "protocol/codec.h"
#include "protocol/frame_message.h"

/* As many as a supervisor lets attach, plus some whose end init has not noticed yet. */
#define CHANNELS_MAX 64

struct channel {
	int socket; /* -1: this table entry is free */
	/* the last sequence number accepted or rejected; the next one must be greater */
	uint64_t sequence;
	bool blocked; /* the socket's send buffer is full */
	uint64_t error_sequence;
	struct yett_error error; /* code 0: no error waits to be sent */
	/*
	 * The kind of the request that init still has to answer: MESSAGE_QUERY, MESSAGE_SESSION or
	 * MESSAGE_CONNECT. 0: no request is pending.
	 */
	uint32_t asked;
	uint64_t asked_sequence;
	struct message_query query;
	struct message_connect connect;
	/* Working memory, shared by all channels: this and the members below. */
	struct frame *frame;
	struct message *message;
	struct message_scratch scratch;
	struct commands *commands;
};

/* All open channels. */
struct channels {
	size_t end; /* no channel at or after this index */
	struct channel table[CHANNELS_MAX];
};

/*
 * Adds a channel for `socket`, and takes ownership of the socket even on failure. `like` supplies
 * the working memory and the command table. Returns false when CHANNELS_MAX channels are open.
 */
bool channels_add(struct channels *channels, int socket, const struct channel *like);

/*
 * Closes a channel. Commands that were started on it keep running, and their results are sent to
 * nobody.
 */
void channels_remove(struct channels *channels, size_t i);

/* The events to poll the channel's socket for. */
short channel_events(const struct channel *channel);

/*
 * Reads a bounded number of packets, as long as no reply waits to be sent, and acts on each.
 * Returns 0; -EPIPE at end of file; another -errno when the socket is no longer usable.
 */
_must_check_ int channel_receive(struct channel *channel);

/*
 * Sends pending messages until the socket is full. Returns 0, or -errno when the socket is no
 * longer usable.
 */
_must_check_ int channel_send(struct channel *channel);
