/* See frame.h. Sends and receives; the bytes are not looked at here. Privilege of the caller; never blocks for more. */
#include "protocol/frame.h"

#include "protocol/encode.h"
#include "protocol/envelope.h"
#include "protocol/schema.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* Packets up to this size are encoded on the stack: all but a long EXEC. */
#define FRAME_SMALL 1536

#ifndef SCM_PIDFD
#define SCM_PIDFD 4 /* linux/socket.h; Linux 6.5 */
#endif

union frame_control {
	struct cmsghdr align;
	uint8_t bytes[CMSG_SPACE(sizeof(int) * MESSAGE_FDS_MAX)];
};

static void frame_attach_fds(struct msghdr *header, union frame_control *control, const int *fds, size_t fd_count)
{
	struct cmsghdr *cmsg;

	header->msg_control = control->bytes;
	header->msg_controllen = (socklen_t)CMSG_SPACE(sizeof(int) * fd_count);
	memset(control->bytes, 0, header->msg_controllen);
	cmsg = CMSG_FIRSTHDR(header);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = (socklen_t)CMSG_LEN(sizeof(int) * fd_count);
	memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
}

int frame_send(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count, int flags)
{
	union frame_control control;
	struct iovec part = {.iov_base = (void *)bytes, .iov_len = length};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t n;

	if (length > MESSAGE_PACKET_MAX || fd_count > MESSAGE_FDS_MAX)
		return -EMSGSIZE;
	if (fd_count > 0)
		frame_attach_fds(&header, &control, fds, fd_count);
	do {
		n = sendmsg(socket, &header, flags | MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0; /* a packet goes whole or not at all */
}

/*
 * Moves every descriptor that came with the packet into the frame; closes those beyond its room, and the one of the sender's
 * process: whoever else holds our end of a socketpair can ask for that at any time. SO_PASSPIDFD, unix(7)
 */
static int frame_take_fds(struct frame *frame, struct msghdr *header)
{
	int r = 0;

	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(header); cmsg; cmsg = CMSG_NXTHDR(header, cmsg)) {
		bool is_wanted = cmsg->cmsg_type == SCM_RIGHTS;

		if (cmsg->cmsg_level != SOL_SOCKET || (!is_wanted && cmsg->cmsg_type != SCM_PIDFD))
			continue;
		for (size_t i = 0; i < (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof fd, sizeof fd);
			if (is_wanted && frame->fd_count < MESSAGE_FDS_MAX) {
				frame->fds[frame->fd_count++] = fd;
				continue;
			}
			(void)fd_close(fd);
			r = is_wanted ? -EMSGSIZE : r;
		}
	}
	return r;
}

int frame_receive(int socket, struct frame *frame, int flags)
{
	union frame_control control;
	struct iovec part = {.iov_base = frame->bytes, .iov_len = sizeof frame->bytes};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
	ssize_t n;
	int r;

	frame->length = 0;
	frame->fd_count = 0;
	do {
		n = recvmsg(socket, &header, flags | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	r = frame_take_fds(frame, &header);
	if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC))
		r = -EMSGSIZE;
	if (r != 0 || n == 0) {
		frame_close_fds(frame);
		return r;
	}
	frame->length = (size_t)n;
	return 1;
}

int frame_peek(int socket, struct frame *frame, bool *ret_has_fds)
{
	struct iovec part = {.iov_base = frame->bytes, .iov_len = sizeof frame->bytes};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1}; /* without room for descriptors, which then stay */
	ssize_t n = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT);

	frame->length = n > 0 ? (size_t)n : 0;
	frame->fd_count = 0;
	*ret_has_fds = header.msg_flags & MSG_CTRUNC;
	if (n <= 0)
		return n < 0 ? -errno : 0;
	return header.msg_flags & MSG_TRUNC ? -EMSGSIZE : 1;
}

bool frame_peek_fds(int socket)
{
	struct msghdr header = {0};
	ssize_t n;

	do
		n = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT);
	while (n < 0 && errno == ECONNRESET); /* told once, before what the peer had sent */
	return n >= 0 && (header.msg_flags & MSG_CTRUNC);
}

/* With SO_PASSCRED each packet has credentials, by which an empty one is told from the end. What does not fit are descriptors. unix(7) */
bool frame_close_socket(int socket)
{
	const int on = 1;

	(void)shutdown(socket, SHUT_RDWR); /* nothing is queued any more */
	if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		return false;
	for (;;) {
		union {
			struct cmsghdr align;
			uint8_t bytes[CMSG_SPACE(sizeof(struct ucred))];
		} control;
		struct msghdr header = {.msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
		ssize_t n = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT);

		if (n < 0 && errno == ECONNRESET) /* told once, before what the peer had sent */
			continue;
		if (n >= 0 && (header.msg_flags & MSG_CTRUNC))
			return false;
		if (n < 0 || header.msg_controllen == 0)
			break;
		frame_drop(socket);
	}
	fd_close(socket);
	return true;
}

void frame_drop(int socket)
{
	char byte;

	(void)!recv(socket, &byte, sizeof byte, MSG_DONTWAIT);
}

void frame_close_fds(struct frame *frame)
{
	if (!frame)
		return;
	for (size_t i = 0; i < frame->fd_count; i++)
		frame->fds[i] = fd_close(frame->fds[i]);
	frame->fd_count = 0;
}

int frame_send_message(int socket, const struct message *message, uint64_t sequence, const int *fds, size_t fd_count, int flags)
{
	struct envelope envelope = {.kind = (uint16_t)message->kind, .sequence = sequence, .fd_count = (uint8_t)fd_count};
	_cleanup_free_ uint8_t *large = NULL;
	uint8_t small[FRAME_SMALL], *packet = small;
	size_t length, size = sizeof small;
	int r;

	if (message->kind > UINT16_MAX || envelope_kind_is_signed(envelope.kind))
		return -EINVAL;
	r = message_encode(message, packet + ENVELOPE_HEADER_SIZE, size - ENVELOPE_HEADER_SIZE, &length);
	if (r == -EMSGSIZE) {
		size = MESSAGE_PACKET_MAX;
		packet = large = malloc(size);
		r = !large ? -ENOMEM : message_encode(message, packet + ENVELOPE_HEADER_SIZE, size - ENVELOPE_HEADER_SIZE, &length);
	}
	if (r < 0)
		return r;
	envelope.body_length = (uint32_t)length;
	envelope_write(&envelope, packet);
	return frame_send(socket, packet, ENVELOPE_HEADER_SIZE + length, fds, fd_count, flags);
}

/* A copy that is fit for the wire: an error's text may have been cut within a character, or quote a peer's bytes. */
static int frame_add_clean_text(struct message *message, const char *string, size_t size, struct text *ret_text)
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
