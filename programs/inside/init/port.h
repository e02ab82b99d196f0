/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects a client to a port inside the sandbox: CONNECT.
 *
 * Runs as init, unprivileged, in the sandbox's network namespace. Only programs of the sandbox
 * listen on its loopback, so a client reaches no more than it could by running a command. Nothing
 * here blocks: the client gets the socket and sees there whether the connection succeeds.
 */
#pragma once

#include "base/error.h"
#include "protocol/message.h"

/*
 * Starts connecting to the port and stores the non-blocking, close-on-exec socket in *ret_fd.
 * Returns 0 or YETT_E_COMMAND_FAILED. connect(2)
 */
_must_check_ int port_connect(const struct message_connect *asked, int *ret_fd,
                              struct yett_error *error);
