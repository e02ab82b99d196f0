/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the HTTP/1.1 server (RFC 9112), and the deadlines of its connections. acceptor.h
 * starts it.
 *
 * libmicrohttpd reads and writes in the program's loop and thread, without blocking. Runs with the
 * caller's privilege.
 */
#pragma once

#include <microhttpd.h>

#include "agent/agent.h"
#include "agent/http/access.h"
#include "agent/http/entry.h"

#define SERVER_CONNECTIONS_MAX 64 /* per uid and transport */

struct exchange;
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

/* The peer of a new connection. */
struct arrival {
	bool is_tcp, is_refused;
	uid_t uid;
};

/* A connection. */
struct visitor {
	struct server *server;
	int fd; /* owned by libmicrohttpd */
	bool is_tcp, is_refused;
	uid_t uid;
	uint64_t deadline_ms; /* 0: none */
	struct exchange *exchange;
	struct visitor *next, *before;
};

struct server {
	struct agent *agent;
	struct access *access;
	struct server_options options;
	struct MHD_Daemon *daemon;
	sd_event_source *run, *again, *timer, *idle, *entries[ENTRY_MAX];
	size_t entries_count;
	/*
	 * A reserve descriptor. At the descriptor limit it is closed to accept and close one
	 * connection, so that the client is turned away instead of waiting, and the loop does not
	 * spin.
	 */
	int spare;
	struct visitor *visitors;
	struct arrival arrival; /* of the connection that is being passed to libmicrohttpd */
	uint64_t timer_ms;      /* when the timer fires; 0: not set */
	uint64_t started_ms;
};

struct agent *server_agent(const struct server *server);
struct access *server_access(struct server *server);
struct manager *server_manager(const struct server *server);
struct mcp *server_mcp(const struct server *server);

/* Start time: CLOCK_MONOTONIC, in milliseconds. */
uint64_t server_started_ms(const struct server *server);

/* --- for exchanges ---------------------------------------------------------------------------- */

/* Sets the deadline of the connection, in milliseconds from now; 0: none. */
void server_bound(struct visitor *visitor, uint64_t ms);
/* Has the timer fire at this time (CLOCK_MONOTONIC, in milliseconds; 0: never). */
void server_set_timer(struct server *server, uint64_t at_ms);
uint64_t server_request_ms(const struct server *server);

/*
 * Runs libmicrohttpd in the next round, after resuming a connection: neither its epoll descriptor
 * nor its timeout reports resumed connections.
 */
void server_go_on(struct server *server);
