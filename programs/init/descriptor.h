/*
 * Which descriptors a client may hand in as standard input, output and error, and as memory with
 * further arguments.
 *
 * As init, unprivileged, before a command gets to see the descriptor; libyett refuses the same
 * before sending. A directory, an O_PATH handle, a socket of the host's network or a node of a
 * pseudo file system would be a door out of the sandbox.
 */
#pragma once

#include "base/error.h"

/*
 * Accepts pipes, FIFOs, sockets that reach nobody but their peer (SOCKET_PEER), regular files on
 * real file systems (memfd included), and /dev/null. `name` is what the error calls it ("stdin").
 * 0, or YETT_E_SECURITY_VIOLATION with what it is; -errno if it cannot be examined.
 */
_must_check_ int descriptor_check(int fd, const char *name, struct yett_error *error);

/*
 * Accepts memory of exactly `bytes` bytes that can neither change nor shrink, memfd_create(2). It
 * is not read here: pages of a client's may take their time, and who reads them shall be one that
 * can be killed.
 */
_must_check_ int descriptor_check_sealed(int fd, uint64_t bytes, const char *name,
                                         struct yett_error *error);
