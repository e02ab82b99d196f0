/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the descriptors that a client passes in as stdin, stdout and stderr, and as memory with
 * further arguments.
 *
 * Runs as init, unprivileged, before a command gets the descriptor. libyett makes the same check
 * before it sends. A directory, an O_PATH handle, a socket of the host's network or a file of a
 * pseudo file system would let a command escape from the sandbox.
 */
#pragma once

#include "base/error.h"

/*
 * Accepts pipes, FIFOs, sockets that reach only their peer (SOCKET_PEER), regular files on real
 * file systems (memfd included), and /dev/null. `name` is how the error calls the descriptor
 * ("stdin"). Returns 0, YETT_E_SECURITY_VIOLATION with what the descriptor is, or -errno if it
 * cannot be examined.
 */
_must_check_ int descriptor_check(int fd, const char *name, struct yett_error *error);

/*
 * Accepts a memfd of exactly `bytes` bytes that is sealed against writing, growing and shrinking
 * (memfd_create(2)). Does not read the memory: access to a client's pages may block for long, so
 * only a process that can be killed may read them.
 */
_must_check_ int descriptor_check_sealed(int fd, uint64_t bytes, const char *name,
                                         struct yett_error *error);
