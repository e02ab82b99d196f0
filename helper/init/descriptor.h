/*
 * Which descriptors a client may hand in as standard input, output and error.
 *
 * As init, unprivileged, before a command gets to see the descriptor; libyett refuses the same before sending. A
 * directory, an O_PATH handle or a node of a pseudo file system would be a door out of the sandbox.
 */
#pragma once

#include "base/error.h"

/*
 * Accepts pipes, FIFOs, sockets, regular files on real file systems (memfd included), and /dev/null. `name` is what the
 * error calls it ("stdin"). 0, or YETT_E_SECURITY_VIOLATION with what it is; -errno if it cannot be examined.
 */
_must_check_ int descriptor_check(int fd, const char *name, struct yett_error *error);
