/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command's terminal: a pty of the sandbox's own /dev/pts, whose master goes to the client.
 *
 * The child opens the pty after it has dropped init's id and capabilities, because init itself
 * opens no path. The child sends the master to init through its socket (launch.h). init passes the
 * master on to the client with STARTED and keeps no copy, so only the client can set the window
 * size. pty(7), ioctl_tty(2), ioctl_tiocgptpeer(2).
 */
#pragma once

#include "protocol/message.h"

#include "base/error.h"

#include <sys/types.h>

/*
 * Whether the terminal settings of an EXEC are consistent: with a terminal, all standard streams
 * must be STDIO_NULL; without a terminal, there must be no window size. Returns 0 or
 * YETT_E_INVALID_REQUEST. Pure.
 */
_must_check_ int terminal_check(const struct message_exec *exec, struct yett_error *error);

/*
 * Call in the child, which must be the leader of a session without a terminal. Makes a new pty the
 * session's controlling terminal and descriptors 0 to 2, and sends its master through `socket`.
 * Returns 0 or -errno.
 */
_must_check_ int terminal_open(const struct message_exec *exec, int socket);

/*
 * Reads like read(2) from init's end of the child's socket. The pty master arrives first: it is
 * stored in *terminal, which must be -1 before, and is not counted as data. Returns -1 with errno
 * EAGAIN when nothing has arrived.
 */
ssize_t terminal_read(int socket, void *bytes, size_t length, int *terminal);
