/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepts connections of the HTTP server, identifies peers, and limits the number and the time of
 * connections.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/http/server.h"

/* Borrows all arguments; they must outlive the server. */
_must_check_ int acceptor_start(struct agent *agent, struct entry *entry, struct access *access,
                                const struct server_options *options, struct server **ret_server,
                                struct yett_error *error);

/* Closes all connections and cancels their work. Accepts NULL. */
void acceptor_stop(struct server *server);
