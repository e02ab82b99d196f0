/* SPDX-License-Identifier: Apache-2.0 */
/* See frame_message.h. Allocates nothing for a small message. Privilege of the caller. */
#include "protocol/frame_message.h"

#include "base/error_text.h"
#include "protocol/encode.h"
#include "protocol/envelope.h"
#include "protocol/schema.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Packets up to this size are encoded on the stack: all but a long EXEC. */
#define FRAME_SMALL 1536

int frame_send_message(int socket, const struct message *message, uint64_t sequence, const int *fds,
                       size_t fd_count, int flags)
{
	struct envelope envelope = {.kind = (uint16_t)message->kind,
	                            .sequence = sequence,
	                            .fd_count = (uint8_t)fd_count};
	_cleanup_free_ uint8_t *large = NULL;
	uint8_t small[FRAME_SMALL], *packet = small;
	size_t length, size = sizeof small;
	int r;

	if (message->kind > UINT16_MAX || envelope_kind_is_signed(envelope.kind))
		return -EINVAL;
	r = message_encode(message, packet + ENVELOPE_HEADER_SIZE, size - ENVELOPE_HEADER_SIZE,
	                   &length);
	if (r == -EMSGSIZE) {
		size = MESSAGE_PACKET_MAX;
		packet = large = malloc(size);
		r = !large ? -ENOMEM
		           : message_encode(message, packet + ENVELOPE_HEADER_SIZE,
		                            size - ENVELOPE_HEADER_SIZE, &length);
	}
	if (r < 0)
		return r;
	envelope.body_length = (uint32_t)length;
	envelope_write(&envelope, packet);
	return frame_send(socket, packet, ENVELOPE_HEADER_SIZE + length, fds, fd_count, flags);
}

/*
 * Adds a copy that is valid UTF-8: an error's text may have been cut within a character, or may
 * quote a peer's bytes.
 */
static int frame_add_clean_text(struct message *message, const char *string, size_t size,
                                struct text *ret_text)
{
	char clean[sizeof(((struct yett_error *)NULL)->detail)];
	size_t length = strnlen(string, size - 1);

	memcpy(clean, string, length);
	clean[length] = '\0';
	schema_clean_text(clean);
	return message_add_text(message, clean, ret_text);
}

int frame_send_error(int socket, const struct yett_error *error, uint64_t sequence, int flags)
{
	/* Not zeroed: a message is large, and only the few bytes written here are read again. */
	_cleanup_free_ struct message *message = malloc(sizeof *message);
	struct message_error *body;
	int r = 0;

	if (!message)
		return -ENOMEM;
	body = &message_begin(message, MESSAGE_ERROR)->error;
	*body = (struct message_error){.code = error->code,
	                               .reason = error->reason,
	                               .retryable = error_code_retryable(error->code),
	                               .line = error->line,
	                               .error_number = (uint32_t)error->os_error};
#define ADD(field)  \
	if (r == 0) \
	r = frame_add_clean_text(message, error->field, sizeof error->field, &body->field)
	ADD(message);
	ADD(detail);
	ADD(rule);
	ADD(file);
	ADD(asked);
	ADD(allowed);
	ADD(mend);
	ADD(step);
#undef ADD
	return r != 0 ? r : frame_send_message(socket, message, sequence, NULL, 0, flags);
}

int frame_peek(int socket, struct frame *frame, bool *ret_has_fds)
{
	struct iovec part = {.iov_base = frame->bytes, .iov_len = sizeof frame->bytes};
	/* no room for descriptors, so they stay in the socket */
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT);

	frame->length = n > 0 ? (size_t)n : 0;
	frame->fd_count = 0;
	*ret_has_fds = header.msg_flags & MSG_CTRUNC;
	if (n <= 0)
		return n < 0 ? -errno : 0;
	return header.msg_flags & MSG_TRUNC ? -EMSGSIZE : 1;
}
