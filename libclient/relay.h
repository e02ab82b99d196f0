/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of a relay to a sandbox, and the checks of the answers.
 *
 * Runs with the caller's privilege. init, and yett-files inside, may be hostile: a descriptor is
 * used only after a check of what it is.
 */
#pragma once

#include "libclient/sandbox.h"

/*
 * query.c: asks init to begin connecting a socket to a port of the sandbox's loopback: 127.0.0.1,
 * or ::1 if `is_v6`. *ret_fd is non-blocking. It becomes writable when it is connected or has
 * failed, which SO_ERROR says. YETT_E_COMMAND_FAILED. YETT_E_SECURITY_VIOLATION: init sent
 * something else.
 */
_must_check_ int query_connect(struct yett_sandbox *sandbox, uint16_t port, bool is_v6, int *ret_fd,
                               struct yett_error *error);

/*
 * sockets.c: returns whether `fd` is a stream socket of the family `domain`, and whether it listens
 * as `listens` says. socket(7)
 */
bool sockets_is(int fd, int domain, bool listens);
