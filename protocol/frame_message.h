/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A message as one packet: encodes and sends it, or looks at the next packet without receiving it.
 * For clients and for programs that talk to clients. yett-helper does not link it.
 */
#pragma once

#include "protocol/frame.h"
#include "protocol/message.h"

/*
 * Encodes `message` behind an unsigned envelope and sends it. Returns the errors of frame_send()
 * and message_encode(), -ENOMEM, or -EINVAL for a kind that must be signed.
 */
_must_check_ int frame_send_message(int socket, const struct message *message, uint64_t sequence,
                                    const int *fds, size_t fd_count, int flags);

/*
 * Sends `error` as a MESSAGE_ERROR that answers the message with that sequence. Returns the errors
 * of frame_send_message().
 */
_must_check_ int frame_send_error(int socket, const struct yett_error *error, uint64_t sequence,
                                  int flags);

/*
 * Copies the bytes of the next packet into `frame` and leaves the packet, with its descriptors, in
 * the socket. Never waits. Sets `ret_has_fds` if the packet has descriptors (always, on a socket
 * with SO_PASSCRED or SO_PASSPIDFD: unix(7)). Returns 1 for a packet, 0 at end of file, -EAGAIN,
 * -EMSGSIZE for a packet that is too large, otherwise -errno.
 */
_must_check_ int frame_peek(int socket, struct frame *frame, bool *ret_has_fds);
