/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See frame.h. Sends and receives packets without looking at their bytes, with the privilege of the
 * caller. Blocks only where the caller's flags let sendmsg(2) or recvmsg(2) block.
 */
#include "protocol/frame.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/uio.h>

/* as the kernel counts it (SIOCOUTQ); a socket's buffer holds a few packets more */
#define UNREAD_MAX 131072

#ifndef SCM_PIDFD
#define SCM_PIDFD 4 /* linux/socket.h; Linux 6.5 */
#endif

union frame_control {
	struct cmsghdr align;
	uint8_t bytes[CMSG_SPACE(sizeof(int) * MESSAGE_FDS_MAX)];
};

static void frame_attach_fds(struct msghdr *header, union frame_control *control, const int *fds,
                             size_t fd_count)
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

int frame_send(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count,
               int flags)
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
	return n < 0 ? -errno : 0; /* SOCK_SEQPACKET sends a packet whole or not at all */
}

/*
 * Moves every descriptor that came with the packet into the frame, and closes those beyond its
 * room. Also closes a pidfd of the sender: any process that shares our end of a socketpair can turn
 * on SO_PASSPIDFD at any time. unix(7)
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
	struct msghdr header = {.msg_iov = &part,
	                        .msg_iovlen = 1,
	                        .msg_control = control.bytes,
	                        .msg_controllen = sizeof control.bytes};
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

int frame_receive_fd(int socket, void *bytes, size_t size, int *ret_fd, int flags)
{
	_cleanup_free_ struct frame *frame = malloc(sizeof *frame);
	int r = frame ? frame_receive(socket, frame, flags) : -ENOMEM;

	*ret_fd = -1;
	if (r > 0 && (frame->length != size || frame->fd_count > 1)) {
		frame_close_fds(frame);
		r = 0;
	}
	if (r <= 0)
		return r < 0 ? r : -EPROTO;
	memcpy(bytes, frame->bytes, size);
	if (frame->fd_count)
		*ret_fd = frame->fds[0];
	return 0;
}

bool frame_peek_fds(int socket)
{
	struct msghdr header = {0};
	ssize_t n;

	do
		n = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT);
	/* reported once, before the packets that the peer had sent */
	while (n < 0 && errno == ECONNRESET);
	return n >= 0 && (header.msg_flags & MSG_CTRUNC);
}

/*
 * With SO_PASSCRED each packet carries credentials, which distinguish an empty packet from end of
 * file. The control buffer has room for credentials only, so MSG_CTRUNC means that the packet has
 * descriptors. unix(7)
 */
bool frame_close_socket(int socket)
{
	const int on = 1;

	if (socket < 0)
		return true;
	(void)shutdown(socket, SHUT_RDWR); /* after this, nothing more is queued */
	if (setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)
		return false;
	for (;;) {
		union {
			struct cmsghdr align;
			uint8_t bytes[CMSG_SPACE(sizeof(struct ucred))];
		} control;
		struct msghdr header = {.msg_control = control.bytes,
		                        .msg_controllen = sizeof control.bytes};
		ssize_t n = recvmsg(socket, &header, MSG_PEEK | MSG_DONTWAIT);

		/* reported once, before the packets that the peer had sent */
		if (n < 0 && errno == ECONNRESET)
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

bool frame_has_room(int socket)
{
	int unread = 0;

	return ioctl(socket, SIOCOUTQ, &unread) == 0 && unread <= UNREAD_MAX;
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
