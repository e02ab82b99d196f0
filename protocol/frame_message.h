/*
 * A message as one packet: encoded, and sent; or looked at before it is received. For programs that
 * speak to clients, or are one; root's is none of them.
 */
#pragma once

#include "protocol/frame.h"
#include "protocol/message.h"

/*
 * Encodes `message` behind an unsigned envelope and sends it. frame_send()'s errors and
 * message_encode()'s.
 */
_must_check_ int frame_send_message(int socket, const struct message *message, uint64_t sequence,
                                    const int *fds, size_t fd_count, int flags);

/* Sends `error` as a MESSAGE_ERROR that answers `sequence`. frame_send_message()'s errors. */
_must_check_ int frame_send_error(int socket, const struct yett_error *error, uint64_t sequence,
                                  int flags);

/*
 * Looks at the next packet and leaves it where it is: its bytes go into `frame`, its descriptors
 * stay with it, and `ret_has_fds` tells whether there are any (unix(7): of a socket with
 * SO_PASSCRED or SO_PASSPIDFD always true). Never waits. 1 when there is one, 0 at end of file,
 * -EAGAIN, -EMSGSIZE for one that is too large, else -errno.
 */
_must_check_ int frame_peek(int socket, struct frame *frame, bool *ret_has_fds);
