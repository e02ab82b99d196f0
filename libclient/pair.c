/* SPDX-License-Identifier: Apache-2.0 */
/* See pair.h. */
#include "libclient/pair.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "libclient/discard.h"

#define TURNS      4   /* buffers moved in one direction before other pairs get a turn */
#define RIGHTS_MAX 253 /* descriptors in one message: the kernel's SCM_MAX_FD. unix(7) */

/*
 * A control message with a pidfd of the sender. Another process that holds the same socket can
 * switch on SO_PASSPIDFD, so these messages can arrive unrequested. Since Linux 6.5
 */
#ifndef SCM_PIDFD
#define SCM_PIDFD 4
#endif

uint32_t pair_wants(const struct pair *pair, int side)
{
	const struct pair_lane *from = &pair->lanes[side], *to = &pair->lanes[!side];

	if (pair->is_connecting)
		return side == 1 ? EPOLLOUT : 0;
	return (from->state == PAIR_OPEN && !from->held ? EPOLLIN : 0U) |
	       (to->held ? EPOLLOUT : 0U);
}

/*
 * Closes the descriptors that came with a message, in the background because close(2) can block.
 * Returns whether there were any.
 */
static bool drop_rights(struct msghdr *header)
{
	bool came = false;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
		size_t count =
			c->cmsg_len > CMSG_LEN(0) ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

		if (c->cmsg_level != SOL_SOCKET ||
		    (c->cmsg_type != SCM_RIGHTS && c->cmsg_type != SCM_PIDFD))
			continue;
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
			discard_fd(fd);
		}
		came = true;
	}
	return came || (header->msg_flags & MSG_CTRUNC);
}

static ssize_t pair_take(int socket, uint8_t *buffer)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(RIGHTS_MAX * sizeof(int))];
	} control;
	struct iovec iov = {buffer, PAIR_BUFFER};
	struct msghdr header = {.msg_iov = &iov,
	                        .msg_iovlen = 1,
	                        .msg_control = control.bytes,
	                        .msg_controllen = sizeof control.bytes};
	ssize_t n = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return -errno;
	return drop_rights(&header) ? -EPROTO : n;
}

/*
 * Sends the bytes to the other side. The lane holds the bytes that the socket does not take.
 * Returns 0 or -ENOMEM.
 */
static int pair_give(struct pair_lane *lane, int to, const uint8_t *bytes, uint32_t length)
{
	ssize_t n = send(to, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	uint32_t given = n > 0 ? (uint32_t)n : 0;

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		/*
		 * The socket takes nothing more, but may still have bytes for the other direction.
		 */
		lane->state = PAIR_LOST;
		given = length;
	}
	if (lane->held) {
		lane->at += given;
	} else if (given < length) {
		lane->held = malloc(length - given);
		if (!lane->held)
			return -ENOMEM;
		memcpy(lane->held, bytes + given, length - given);
		lane->at = 0;
		lane->length = length - given;
	}
	if (lane->held && (lane->at == lane->length || lane->state == PAIR_LOST)) {
		free(lane->held);
		lane->held = NULL;
	}
	return 0;
}

static int move_from(struct pair *pair, int side, uint8_t *buffer)
{
	struct pair_lane *lane = &pair->lanes[side];
	int to = pair->sockets[!side], r = 0;

	if (lane->held)
		r = pair_give(lane, to, lane->held + lane->at, lane->length - lane->at);
	for (int i = 0; r == 0 && i < TURNS && lane->state == PAIR_OPEN && !lane->held; i++) {
		ssize_t n = pair_take(pair->sockets[side], buffer);

		if (n == -EAGAIN || n == -EINTR)
			break;
		if (n < 0)
			return (int)n;
		if (n == 0)
			lane->state = PAIR_ENDING;
		else
			r = pair_give(lane, to, buffer, (uint32_t)n);
	}
	if (r == 0 && lane->state == PAIR_ENDING && !lane->held) {
		(void)shutdown(to, SHUT_WR);
		lane->state = PAIR_ENDED;
	}
	return r;
}

int pair_move(struct pair *pair, int side, uint8_t *buffer)
{
	int r = move_from(pair, side, buffer);

	return r == 0 && pair->lanes[!side].held ? move_from(pair, !side, buffer) : r;
}

bool pair_is_done(const struct pair *pair)
{
	return pair->lanes[0].state >= PAIR_ENDED && pair->lanes[1].state >= PAIR_ENDED;
}

/*
 * Whether descriptors may be queued in the socket: the peer of a Unix socket can send some.
 * close(2) of the socket also closes these, which takes as long as their sender wants.
 */
static bool may_hold_rights(int fd)
{
	int domain = 0, passes = 1;
	socklen_t size = sizeof domain;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain != AF_UNIX)
		return false;
	size = sizeof passes;
	return getsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &passes, &size) < 0 || passes;
}

void pair_close(int fd, bool is_broken)
{
	/*
	 * Linger on, for 0 s: close(2) resets the connection. Linger off: the kernel sends queued
	 * bytes in the background. socket(7)
	 */
	const struct linger linger = {.l_onoff = is_broken};

	if (fd < 0)
		return;
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
	if (may_hold_rights(fd))
		discard_fd(fd);
	else
		fd_close(fd);
}

void pair_end(struct pair *pair, bool is_broken)
{
	for (int i = 0; i < 2; i++) {
		pair_close(pair->sockets[i], is_broken);
		pair->sockets[i] = -1;
		free(pair->lanes[i].held);
		pair->lanes[i].held = NULL;
	}
}
