/*
 * Connections to ports of the sandbox, for a client that has asked for one: CONNECT.
 *
 * As init, unprivileged, in the sandbox's network namespace: what listens at its loopback are
 * programs of the sandbox, and a client reaches no more than it could by a command. Nothing is
 * waited for: the client is given the socket, and hears there what became of it.
 */
#pragma once

#include "base/error.h"
#include "protocol/message.h"

/* Begins a connection to the port, and opens *ret_fd: non-blocking, close-on-exec. 0, or
 * YETT_E_COMMAND_FAILED. connect(2) */
_must_check_ int port_connect(const struct message_connect *asked, int *ret_fd,
                              struct yett_error *error);
