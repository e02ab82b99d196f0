/*
 * One packet on a SOCK_SEQPACKET socket, with its descriptors.
 *
 * With the privilege of the caller; touches nothing but the socket. Descriptors arrive
 * close-on-exec and are owned by the frame until taken out. unix(7), recvmsg(2).
 */
#pragma once

#include "base/error.h"
#include "base/fd.h"
#include "protocol/fields_plain.h"

struct frame {
	size_t length;
	size_t fd_count;
	int fds[MESSAGE_FDS_MAX]; /* owned; -1 once taken */
	uint8_t bytes[MESSAGE_PACKET_MAX];
};

/*
 * Sends length bytes and fd_count descriptors (borrowed) as one packet; `flags` for sendmsg(2)
 * besides MSG_NOSIGNAL. 0 or -errno: -EAGAIN when the peer does not read, -EPIPE when it is gone,
 * -EMSGSIZE.
 */
_must_check_ int frame_send(int socket, const void *bytes, size_t length, const int *fds,
                            size_t fd_count, int flags);

/*
 * Receives one packet into `frame`, which must hold no descriptor. 1 when there is one; 0 at end of
 * file; -EAGAIN when MSG_DONTWAIT is given and there is none; -EMSGSIZE when bytes or descriptors
 * were cut off (what arrived is closed); else -errno. `flags` for recvmsg(2) besides
 * MSG_CMSG_CLOEXEC.
 */
_must_check_ int frame_receive(int socket, struct frame *frame, int flags);

/*
 * Takes the next packet away, and closes what came with it without having received it. That may be
 * held up for as long as the sender chose (socket(7), SO_LINGER): only of a packet known to have no
 * descriptors, or by a process that nobody waits for.
 */
void frame_drop(int socket);

/*
 * Whether the next packet has descriptors (unix(7): of a socket with SO_PASSCRED or SO_PASSPIDFD
 * always true); false where there is none. Never waits.
 */
bool frame_peek_fds(int socket);

/*
 * Closes a socket that packets may be queued in, unless one of them has descriptors: then it is
 * shut down and stays open, for the end of the process to close, which does not linger. Whether it
 * is closed; takes -1.
 */
bool frame_close_socket(int socket);

/*
 * Whether the peer has so little unread that more may be sent to it: else events are lost to who
 * does not read. There is room besides for one packet that is sent in any case, the end's.
 */
bool frame_has_room(int socket);

/* Closes the descriptors that were not taken. Takes NULL. */
void frame_close_fds(struct frame *frame);
