/*
 * A command's terminal: a pty of the sandbox's own /dev/pts, whose master goes to the client.
 *
 * The child makes it, after it has dropped init's id and capabilities, since init itself opens no
 * path; it hands the master to init through its socket (launch.h), and init passes it on with
 * STARTED and keeps no copy. So the window's size is for the client to set, by the master. pty(7),
 * ioctl_tty(2), ioctl_tiocgptpeer(2).
 */
#pragma once

#include "protocol/message.h"

#include "base/error.h"

#include <sys/types.h>

/*
 * Whether what an EXEC says of its terminal goes together: with one, stdio takes no descriptors;
 * without one, there is no window. 0 or YETT_E_INVALID_REQUEST. Pure.
 */
_must_check_ int terminal_check(const struct message_exec *exec, struct yett_error *error);

/*
 * As the child, the leader of a session without terminal: makes a pty the session's terminal and
 * descriptors 0 to 2, and sends its master through `socket`. 0 or -errno.
 */
_must_check_ int terminal_open(const struct message_exec *exec, int socket);

/*
 * As read(2) on init's end of that socket. The master, which comes first, is stored in *terminal
 * (-1 until then) and never counts as something read. -1 with errno EAGAIN when nothing has come.
 */
ssize_t terminal_read(int socket, void *bytes, size_t length, int *terminal);
