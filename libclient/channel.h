/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One packet socket with its sequence numbers, which sends and receives with deadlines.
 *
 * Both the connection to the helper and the exec channel to init are channels. Runs with the
 * caller's privilege. Everything received is hostile: this code checks the envelope, the body and
 * the number of descriptors. After a peer broke the protocol once, the channel receives nothing
 * more. Never logs, never raises SIGPIPE.
 */
#pragma once

#include "base/error.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"
#include "protocol/message.h"

/* A time on CLOCK_MONOTONIC in milliseconds; negative: never. */
typedef int64_t deadline_ms;

struct channel {
	const char *peer;          /* names the peer in error messages */
	int fd;                    /* owned; -1 when closed */
	uint64_t sequence;         /* of the last packet sent */
	struct yett_error failure; /* code not 0: nothing more is received, for this reason */
	struct envelope envelope;  /* of the packet received last */
	/* Descriptors of that packet; closed before the next packet unless taken. */
	struct frame frame;
	/* Body of the packet received last; also where a message to send is built. */
	struct message message;
};

deadline_ms channel_deadline(int timeout_ms);

/* The timeout for poll(2): milliseconds until the deadline, 0 when it has passed, -1 for never. */
int channel_time_left(deadline_ms deadline);

/*
 * Makes an empty channel of `fd`, which the channel owns from then on. `peer` is borrowed for the
 * life of the channel; it names the peer in error messages. NULL: no memory, and `fd` is closed.
 */
struct channel *channel_take(int fd, const char *peer);

/* Makes channel->message an empty message of this kind with a zeroed body, and returns it. */
struct message *channel_prepare(struct channel *channel, enum message_kind kind);

/*
 * Copies `string` (NULL: the empty text) into the message that is being built.
 * YETT_E_INVALID_REQUEST: it is longer than `max` bytes, or the message is full; `what` names it in
 * the error.
 */
_must_check_ int channel_put_text(struct channel *channel, const char *string, size_t max,
                                  const char *what, struct text *ret_text,
                                  struct yett_error *error);

/*
 * Describes, for people, which field of channel->message exceeds the protocol's bounds. Always
 * returns YETT_E_INVALID_REQUEST.
 */
_must_check_ int channel_explain(const struct channel *channel, struct yett_error *error);

/*
 * Sends channel->message, unsigned, with the next sequence number. `fds` are borrowed. Returns 0.
 * YETT_E_INVALID_REQUEST: the message exceeds the protocol's bounds. YETT_E_TIMEOUT.
 * YETT_E_NOT_RUNNING: the peer is gone.
 */
_must_check_ int channel_send(struct channel *channel, const int *fds, size_t fd_count,
                              deadline_ms deadline, struct yett_error *error);

/* Does the same for a packet that is already complete, including its envelope. */
_must_check_ int channel_send_packet(struct channel *channel, const uint8_t *packet, size_t length,
                                     const int *fds, size_t fd_count, deadline_ms deadline,
                                     struct yett_error *error);

/*
 * Receives one message into envelope, frame and message. Returns 0; -EAGAIN at the deadline; or a
 * positive code, which channel->failure keeps: YETT_E_PROTOCOL when the peer broke the protocol,
 * YETT_E_NOT_RUNNING when the peer is gone.
 */
_must_check_ int channel_receive(struct channel *channel, deadline_ms deadline,
                                 struct yett_error *error);

/*
 * Records in channel->failure that the peer broke the protocol, closes the descriptors of the
 * packet received last, and returns YETT_E_PROTOCOL.
 */
int channel_violation(struct channel *channel, enum yett_reason reason, struct yett_error *error,
                      const char *format, ...) _printf_(4, 5);

/*
 * channel_copy_text() copies a text of a message to out[0 … size), cut to fit.
 * channel_make_printable() replaces control characters, so that a printed text cannot control a
 * terminal. channel_copy_printable() does both.
 */
void channel_copy_text(const struct message *message, struct text text, char *out, size_t size);
void channel_make_printable(char *text);
void channel_copy_printable(const struct message *message, struct text text, char *out,
                            size_t size);

/*
 * Copies the peer's MESSAGE_ERROR, with control characters replaced. A number that is not a code
 * becomes YETT_E_PROTOCOL.
 */
void channel_get_error(const struct channel *channel, struct yett_error *ret_error);

/* Closes and frees the channel. Takes NULL. */
void channel_free(struct channel *channel);
static inline void channel_freep(struct channel **channel)
{
	channel_free(*channel);
}
