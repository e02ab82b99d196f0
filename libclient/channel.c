/* SPDX-License-Identifier: Apache-2.0 */
/* See channel.h. */
#include "libclient/channel.h"
#include "libclient/discard.h"
#include "base/failure.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "protocol/codec.h"
#include "protocol/explain.h"

deadline_ms channel_deadline(int timeout_ms)
{
	return timeout_ms < 0 ? -1 : (deadline_ms)clock_now_ms() + timeout_ms;
}

int channel_time_left(deadline_ms deadline)
{
	deadline_ms left;

	if (deadline < 0)
		return -1;
	left = deadline - (deadline_ms)clock_now_ms();
	if (left <= 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}

struct channel *channel_take(int fd, const char *peer)
{
	/*
	 * The struct is so large that calloc() maps fresh pages for it. Pages that no message
	 * touches take no memory.
	 */
	struct channel *channel = calloc(1, sizeof *channel);

	if (!channel) {
		fd_close(fd);
		return NULL;
	}
	channel->fd = fd;
	channel->peer = peer;
	return channel;
}

void channel_free(struct channel *channel)
{
	if (!channel)
		return;
	discard_frame(&channel->frame);
	discard_socket(channel->fd);
	free(channel);
}

struct message *channel_prepare(struct channel *channel, enum message_kind kind)
{
	(void)message_begin(&channel->message, kind);
	return &channel->message;
}

int channel_put_text(struct channel *channel, const char *string, size_t max, const char *what,
                     struct text *ret_text, struct yett_error *error)
{
	if (!string)
		string = "";
	if (strlen(string) > max)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                 "%s is longer than %zu bytes", what, max);
	if (message_add_text(&channel->message, string, ret_text) < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_SIZE,
		                 "the request is larger than 64 KiB");
	return 0;
}

int channel_violation(struct channel *channel, enum yett_reason reason, struct yett_error *error,
                      const char *format, ...)
{
	char text[sizeof channel->failure.message];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	discard_frame(&channel->frame);
	(void)error_set(&channel->failure, YETT_E_PROTOCOL, reason, "%s", text);
	if (error)
		*error = channel->failure;
	return YETT_E_PROTOCOL;
}

static int gone(struct channel *channel, struct yett_error *error)
{
	(void)error_set(&channel->failure, YETT_E_NOT_RUNNING, YETT_R_NONE,
	                "%s closed the connection", channel->peer);
	if (error)
		*error = channel->failure;
	return YETT_E_NOT_RUNNING;
}

/*
 * Waits for `events`. Returns 0, -EAGAIN at the deadline, or -errno. Also returns 0 after a
 * hang-up: the caller's next send or receive then returns the cause.
 */
static int libclient_channel_wait_for(int fd, short events, deadline_ms deadline)
{
	struct pollfd entry = {.fd = fd, .events = events};

	for (;;) {
		int left = channel_time_left(deadline);
		int n = poll(&entry, 1, left);

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0 && left >= 0)
			return -EAGAIN;
	}
}

int channel_explain(const struct channel *channel, struct yett_error *error)
{
	struct yett_error why = {0};
	const char *field;

	if (message_check(&channel->message, &why) == 0 || why.reason == YETT_R_SIZE)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_SIZE,
		                 "the request is larger than 64 KiB");
	field = strrchr(why.detail, '.') ? strrchr(why.detail, '.') + 1 : why.detail;
	return error_set(error, YETT_E_INVALID_REQUEST, why.reason, "%s: %.180s", field,
	                 why.message);
}

/* Converts a negative errno of a failed send to a code and fills `error`. */
static int send_failed(const struct channel *channel, int r, struct yett_error *error)
{
	switch (-r) {
	case EAGAIN:
		return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE,
		                 "%s does not read what is sent to it", channel->peer);
	case EPIPE:
	case ECONNRESET:
	case ENOTCONN:
		/*
		 * Do not set channel->failure: packets that the peer sent before it closed can
		 * still be received.
		 */
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "%s closed the connection",
		                 channel->peer);
	case EMSGSIZE:
		return channel_explain(channel, error);
	default:
		errno = -r;
		return failure_set(error, YETT_E_NOT_RUNNING, NULL, "cannot send to %s: %m",
		                   channel->peer);
	}
}

int channel_send(struct channel *channel, const int *fds, size_t fd_count, deadline_ms deadline,
                 struct yett_error *error)
{
	int r;

	if (channel->failure.code) {
		if (error)
			*error = channel->failure;
		return (int)channel->failure.code;
	}
	do
		r = frame_send_message(channel->fd, &channel->message, channel->sequence + 1, fds,
		                       fd_count, MSG_DONTWAIT);
	while (r == -EINTR ||
	       (r == -EAGAIN && libclient_channel_wait_for(channel->fd, POLLOUT, deadline) == 0));
	if (r < 0)
		return send_failed(channel, r, error);
	channel->sequence++;
	return 0;
}

int channel_send_packet(struct channel *channel, const uint8_t *packet, size_t length,
                        const int *fds, size_t fd_count, deadline_ms deadline,
                        struct yett_error *error)
{
	int r;

	do
		r = frame_send(channel->fd, packet, length, fds, fd_count, MSG_DONTWAIT);
	while (r == -EINTR ||
	       (r == -EAGAIN && libclient_channel_wait_for(channel->fd, POLLOUT, deadline) == 0));
	if (r < 0)
		return send_failed(channel, r, error);
	channel->sequence++;
	return 0;
}

/* Returns whether PROTOCOL.md allows `count` descriptors with a message of this kind. */
static bool fds_may_be(uint32_t kind, size_t count)
{
	if (kind == MESSAGE_COMMANDS)
		return count <= 2; /* query.c checks the exact number */
	if (kind == MESSAGE_STARTED)
		return count <= 1; /* command.c checks the exact number */
	return count == (kind == MESSAGE_CREATED || kind == MESSAGE_PLAN ||
	                                 kind == MESSAGE_LISTING || kind == MESSAGE_FOLLOWING ||
	                                 kind == MESSAGE_CONNECTED || kind == MESSAGE_FILE_OPENED
	                         ? 1
	                         : 0);
}

static int receive_packet(struct channel *channel, deadline_ms deadline)
{
	for (;;) {
		int r = frame_receive(channel->fd, &channel->frame,
		                      deadline < 0 ? 0 : MSG_DONTWAIT);

		/*
		 * If the peer closed its socket with packets from us unread, recvmsg(2) fails once
		 * with ECONNRESET before it returns the packets that the peer had sent.
		 */
		if (r == -EINTR || r == -ECONNRESET)
			continue;
		if (r != -EAGAIN || channel_time_left(deadline) == 0)
			return r;
		r = libclient_channel_wait_for(channel->fd, POLLIN, deadline);
		if (r < 0)
			return r;
	}
}

int channel_receive(struct channel *channel, deadline_ms deadline, struct yett_error *error)
{
	struct yett_error why = {0};
	size_t head;
	int r;

	if (channel->failure.code) {
		if (error)
			*error = channel->failure;
		return (int)channel->failure.code;
	}
	discard_frame(&channel->frame);
	r = receive_packet(channel, deadline);
	if (r == -EAGAIN)
		return r;
	if (r == -EMSGSIZE)
		return channel_violation(channel, YETT_R_SIZE, error,
		                         "the peer sent more than a packet may hold");
	if (r <= 0)
		return gone(channel, error);
	r = envelope_read(channel->frame.bytes, channel->frame.length, channel->frame.fd_count,
	                  &channel->envelope, &why);
	if (r == 0) {
		head = envelope_size(channel->envelope.kind);
		r = message_decode(channel->envelope.kind, channel->frame.bytes + head,
		                   channel->envelope.body_length, &channel->message, &why);
	}
	if (r != 0) {
		channel_violation(channel, why.reason, error,
		                  "the peer sent an invalid message: %s", why.message);
		return YETT_E_PROTOCOL;
	}
	if (!fds_may_be(channel->envelope.kind, channel->frame.fd_count))
		return channel_violation(channel, YETT_R_FD_COUNT, error,
		                         "the peer sent %zu descriptors with a message of kind %u",
		                         channel->frame.fd_count, channel->envelope.kind);
	return 0;
}

void channel_copy_text(const struct message *message, struct text text, char *out, size_t size)
{
	const char *string = message_text(message, text);

	(void)snprintf(out, size, "%s", string ? string : "");
}

void channel_make_printable(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

void channel_copy_printable(const struct message *message, struct text text, char *out, size_t size)
{
	channel_copy_text(message, text, out, size);
	channel_make_printable(out);
}

void channel_get_error(const struct channel *channel, struct yett_error *ret_error)
{
	const struct message_error *e = &channel->message.body.error;
	bool known = false;

#define X(name, number, retryable, text) known = known || e->code == (number);
	YETT_CODES(X)
#undef X
	ret_error->code = known ? (enum yett_code)e->code : YETT_E_PROTOCOL;
	ret_error->reason = (enum yett_reason)e->reason;
	ret_error->line = e->line;
#define COPY(field)                                                           \
	channel_copy_printable(&channel->message, e->field, ret_error->field, \
	                       sizeof ret_error->field)
	COPY(message);
	COPY(detail);
	COPY(rule);
	COPY(file);
	COPY(asked);
	COPY(allowed);
	COPY(mend);
#undef COPY
	ret_error->os_error = (int)e->error_number;
	channel_copy_text(&channel->message, e->step, ret_error->step, sizeof ret_error->step);
}
