/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One packet on a SOCK_SEQPACKET socket, with its descriptors.
 *
 * Runs with the privilege of the caller; touches nothing but the socket. Descriptors arrive
 * close-on-exec, and the frame owns them until they are taken out. unix(7), recvmsg(2).
 */
#pragma once

#include "base/error.h"
#include "protocol/fields_plain.h"

#include <sys/socket.h>

struct frame {
	size_t length;
	size_t fd_count;
	int fds[MESSAGE_FDS_MAX]; /* owned; -1 once taken out */
	uint8_t bytes[MESSAGE_PACKET_MAX];
};

/*
 * Sends `length` bytes and `fd_count` descriptors (borrowed) as one packet, with `flags` and
 * MSG_NOSIGNAL for sendmsg(2). Returns 0 or -errno: -EAGAIN when the socket's buffer is full and
 * MSG_DONTWAIT was given, -EPIPE when the peer is gone, -EMSGSIZE.
 */
_must_check_ int frame_send(int socket, const void *bytes, size_t length, const int *fds,
                            size_t fd_count, int flags);

/*
 * Receives one packet into `frame`, which must hold no descriptor, with `flags` and
 * MSG_CMSG_CLOEXEC for recvmsg(2). Returns 1 for a packet; 0 at end of file; -EAGAIN when
 * MSG_DONTWAIT was given and there is no packet; -EMSGSIZE when bytes or descriptors were cut off
 * (the descriptors that arrived are closed); otherwise -errno.
 */
_must_check_ int frame_receive(int socket, struct frame *frame, int flags);

/*
 * Receives one packet of `size` bytes with at most one descriptor, from a process that is trusted,
 * with `flags` like frame_receive(). Sets `ret_fd` to the descriptor, or to -1. Returns 0; -EPROTO
 * for another packet or end of file; or -errno like frame_receive().
 */
_must_check_ int frame_receive_fd(int socket, void *bytes, size_t size, int *ret_fd, int flags);

/*
 * Discards the next packet. The kernel closes the descriptors in it, which can block for as long as
 * the sender chose (socket(7), SO_LINGER). Call this only for a packet that is known to have no
 * descriptors, or in a process that no other one waits for.
 */
void frame_drop(int socket);

/*
 * Returns whether the next packet has descriptors; false if there is no packet. Never waits. Always
 * true on a socket with SO_PASSCRED or SO_PASSPIDFD (unix(7)).
 */
bool frame_peek_fds(int socket);

/*
 * Closes a socket that may have packets queued, unless one of them has descriptors. In that case
 * the socket is shut down and stays open until the process exits: the kernel does not linger when
 * it closes descriptors of an exiting process. Returns whether the socket is closed. Accepts -1
 * (returns true).
 */
bool frame_close_socket(int socket);

/*
 * Returns whether the peer has so little unread data that another event may be sent. The caller
 * drops events for a peer that does not read. The limit leaves room for one more packet, the last
 * event, which is sent in any case.
 */
bool frame_has_room(int socket);

/* Closes the descriptors that were not taken out. Accepts NULL. */
void frame_close_fds(struct frame *frame);
