/*
 * One packet socket with its sequence numbers, sending and receiving with a deadline.
 *
 * Under both the connection to the helper and the exec channel to init. With the caller's
 * privilege. What arrives is hostile: envelope, body and the number of descriptors are checked
 * here, and a peer that breaks the protocol once is not listened to again. Never logs, never raises
 * SIGPIPE.
 */
#pragma once

#include "base/error.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"
#include "protocol/message.h"

/* A moment on CLOCK_MONOTONIC in milliseconds; negative: never. */
typedef int64_t deadline_ms;

struct channel {
	const char *peer;          /* who is at the other end, for messages */
	int fd;                    /* owned; -1 when closed */
	uint64_t sequence;         /* of the last packet sent */
	struct yett_error failure; /* code not 0: nothing more comes; why */
	struct envelope envelope;  /* of the packet received last */
	struct frame frame; /* its descriptors; those not taken are closed before the next one */
	struct message message; /* its body; also where messages to be sent are put together */
};

deadline_ms channel_deadline(int timeout_ms);

/* What poll(2) takes: milliseconds until then, 0 when it has passed, -1 for never. */
int channel_time_left(deadline_ms deadline);

/* An empty channel on `fd`, which it takes; `peer` is kept, and names who is at the other end. NULL
 * when memory is short (then the descriptor is closed). */
struct channel *channel_take(int fd, const char *peer);

/* Makes channel->message an empty one of this kind, its body zeroed, and returns it. */
struct message *channel_prepare(struct channel *channel, enum message_kind kind);

/* Copies `string` (NULL: nothing) into the message being put together; `what` names it when it is
 * too long. */
_must_check_ int channel_put_text(struct channel *channel, const char *string, size_t max,
                                  const char *what, struct text *ret_text,
                                  struct yett_error *error);

/* What of channel->message is outside the bounds of the protocol, for people.
 * YETT_E_INVALID_REQUEST. */
_must_check_ int channel_explain(const struct channel *channel, struct yett_error *error);

/*
 * Sends channel->message unsigned with the next sequence number. 0; YETT_E_INVALID_REQUEST when the
 * message is outside the bounds of the protocol; YETT_E_TIMEOUT; YETT_E_NOT_RUNNING when the peer
 * is gone.
 */
_must_check_ int channel_send(struct channel *channel, const int *fds, size_t fd_count,
                              deadline_ms deadline, struct yett_error *error);

/* The same for a packet that is complete already, envelope and all. */
_must_check_ int channel_send_packet(struct channel *channel, const uint8_t *packet, size_t length,
                                     const int *fds, size_t fd_count, deadline_ms deadline,
                                     struct yett_error *error);

/*
 * Receives one message into envelope, frame and message. 0; -EAGAIN at the deadline; a positive
 * code when the peer broke the protocol (YETT_E_PROTOCOL) or is gone (YETT_E_NOT_RUNNING), which
 * channel->failure keeps.
 */
_must_check_ int channel_receive(struct channel *channel, deadline_ms deadline,
                                 struct yett_error *error);

/* Notes that the peer broke the protocol, and returns YETT_E_PROTOCOL. */
int channel_violation(struct channel *channel, enum yett_reason reason, struct yett_error *error,
                      const char *format, ...) _printf_(4, 5);

/* A text of a message, cut to fit out[0 … size); and one for people, in which nothing can move the
 * cursor of a terminal. */
void channel_copy_text(const struct message *message, struct text text, char *out, size_t size);
void channel_make_printable(char *text);
void channel_copy_printable(const struct message *message, struct text text, char *out,
                            size_t size);

/* Copies the peer's MESSAGE_ERROR, control characters replaced; a number that is no code becomes
 * YETT_E_PROTOCOL. */
void channel_get_error(const struct channel *channel, struct yett_error *ret_error);

/* Closes and frees it. Takes NULL. */
void channel_free(struct channel *channel);
static inline void channel_freep(struct channel **channel)
{
	channel_free(*channel);
}
