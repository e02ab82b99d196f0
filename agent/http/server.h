/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP/1.1 server (RFC 9112): accepts connections, identifies peers, and limits the number and
 * the time of connections.
 *
 * libmicrohttpd reads and writes in the program's loop and thread, without blocking. Runs with the
 * caller's privilege.
 */
#pragma once

#include "agent/agent.h"
#include "agent/http/access.h"
#include "agent/http/entry.h"
#include "agent/http/exchange.h"

#define SERVER_CONNECTIONS_MAX 64 /* per uid and transport */

struct manager;
struct mcp;

struct server_options {
	struct manager *manager;
	struct mcp *mcp;
	/* For receiving a request, from its first line to the end of its body. */
	uint64_t request_ms;
	/* The loop ends after this time without connections and running executions. 0: never. */
	uint64_t idle_exit_ms;
};

/* Borrows all arguments; they must outlive the server. */
_must_check_ int server_new(struct agent *agent, struct entry *entry, struct access *access,
                            const struct server_options *options, struct server **ret_server,
                            struct yett_error *error);

/* Closes all connections and cancels their work. Accepts NULL. */
void server_free(struct server *server);

struct agent *server_agent(const struct server *server);
struct access *server_access(struct server *server);
struct manager *server_manager(const struct server *server);
struct mcp *server_mcp(const struct server *server);

/* Start time: CLOCK_MONOTONIC, in milliseconds. */
uint64_t server_started_ms(const struct server *server);

/* --- for exchanges ---------------------------------------------------------------------------- */

/* Sets the deadline of the connection, in milliseconds from now; 0: none. */
void server_bound(struct visitor *visitor, uint64_t ms);
uint64_t server_request_ms(const struct server *server);

/*
 * Runs libmicrohttpd in the next round, after resuming a connection: neither its epoll descriptor
 * nor its timeout reports resumed connections.
 */
void server_go_on(struct server *server);
