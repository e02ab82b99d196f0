/*
 * The exec channel: packets of the client in, results out.
 *
 * As init, unprivileged. Everything that arrives is hostile: a packet that is not one is answered
 * with an error and forgotten, and the sandbox lives on. A client that does not read stops being
 * read from; it loses no result.
 */
#pragma once

#include "programs/init/commands.h"
#include "protocol/codec.h"
#include "protocol/frame_message.h"

/* as many as a supervisor lets attach, and some whose end is not seen yet */
#define CHANNELS_MAX 64

struct channel {
	int socket;        /* -1: none */
	uint64_t sequence; /* of the last packet accepted or refused; the next must be greater */
	bool blocked;      /* the socket takes nothing more for now */
	uint64_t error_sequence;
	struct yett_error error; /* code 0: none waits to be sent */
	uint32_t asked; /* MESSAGE_QUERY, MESSAGE_SESSION or MESSAGE_CONNECT: it waits to be
	                   answered; 0: nothing does */
	uint64_t asked_sequence;
	struct message_query query;
	struct message_connect connect;
	struct frame *frame; /* working memory, here and below */
	struct message *message;
	struct message_scratch scratch;
	struct commands *commands;
};

/* Every channel there is. */
struct channels {
	size_t end; /* no channel at or after this index */
	struct channel table[CHANNELS_MAX];
};

/* Takes one more socket, in any case; `like` says what it works with. False when there are as many
 * as can be. */
bool channels_add(struct channels *channels, int socket, const struct channel *like);

/* Closes one. What was started there goes on, and nobody is told of it. */
void channels_remove(struct channels *channels, size_t i);

/* What to poll the socket for. */
short channel_events(const struct channel *channel);

/*
 * Reads a bounded number of packets while nothing waits to be sent, and acts on each. 0; -EPIPE at
 * end of file; -errno when the socket is of no more use.
 */
_must_check_ int channel_receive(struct channel *channel);

/* Sends what is due until the socket is full. 0, or -errno when it is of no more use. */
_must_check_ int channel_send(struct channel *channel);
