/*
 * What a relay asks of a sandbox, and what it makes of the answer.
 *
 * With the caller's privilege. What comes from init, or from yett-files inside, is hostile: a
 * descriptor is used as what it was found to be.
 */
#pragma once

#include "libclient/sandbox.h"

/*
 * query.c: a socket that init has begun to connect to a port of the sandbox's loopback, 127.0.0.1
 * or ::1. It is non-blocking, and becomes writable when it is connected or SO_ERROR tells why not.
 * YETT_E_COMMAND_FAILED, YETT_E_SECURITY_VIOLATION: init sent something else.
 */
_must_check_ int query_connect(struct yett_sandbox *sandbox, uint16_t port, bool is_v6, int *ret_fd,
                               struct yett_error *error);

/* sockets.c: whether it is a stream socket of the family, and one that listens or one that does
 * not. socket(7) */
bool sockets_is(int fd, int domain, bool listens);
