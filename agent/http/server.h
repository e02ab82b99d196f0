/*
 * Speaks HTTP/1.1 (RFC 9112) with those who connect: who they are, how many, and how long what they
 * do may take.
 *
 * libmicrohttpd reads and writes in the program's one loop and thread, and waits for nothing. With
 * the caller's privilege.
 */
#pragma once

#include "agent/agent.h"
#include "agent/http/access.h"
#include "agent/http/entry.h"
#include "agent/http/exchange.h"

#define SERVER_CONNECTIONS_MAX 64 /* of one uid and way */

struct manager;
struct mcp;

struct server_options {
	struct manager *manager;
	struct mcp *mcp;
	uint64_t request_ms; /* for a request to come, from its first line to the end of its body */
	uint64_t idle_exit_ms; /* with nobody connected and nothing that runs for so long, the loop
	                          is left; 0: never */
};

/* Borrows what it is given. */
_must_check_ int server_new(struct agent *agent, struct entry *entry, struct access *access,
                            const struct server_options *options, struct server **ret_server,
                            struct yett_error *error);

/* Ends all connections, and gives up what goes on for them. Takes NULL. */
void server_free(struct server *server);

struct agent *server_agent(const struct server *server);
struct access *server_access(struct server *server);
struct manager *server_manager(const struct server *server);
struct mcp *server_mcp(const struct server *server);

/* When it was made: CLOCK_MONOTONIC, in milliseconds. */
uint64_t server_started_ms(const struct server *server);

/* --- for exchanges ---------------------------------------------------------------------------- */

/* What it does now may take so long; 0: without bound. */
void server_bound(struct visitor *visitor, uint64_t ms);
uint64_t server_request_ms(const struct server *server);

/* Has libmicrohttpd look at what was resumed: neither its descriptor nor its timeout tells of this.
 */
void server_go_on(struct server *server);
