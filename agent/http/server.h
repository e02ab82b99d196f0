/*
 * Speaks HTTP/1.1 (RFC 9112) with those who were let in: connections, bodies, how long each may take, and when it is answered.
 *
 * What is asked and answered is the routes' business. libmicrohttpd reads and writes in the program's one loop and thread: it waits for
 * nothing, and what goes on for longer is suspended meanwhile. With the caller's privilege.
 */
#pragma once

#include <microhttpd.h>

#include "agent/agent.h"
#include "agent/http/access.h"
#include "agent/http/entry.h"

#define SERVER_BODY_MAX        ((size_t)10 << 20)
#define SERVER_CONNECTIONS_MAX 64 /* of one uid and way */

struct server;
struct exchange;
struct route;
struct manager;
struct mcp;

enum exchange_state {
	EXCHANGE_READING = 0, /* its body comes */
	EXCHANGE_PASSING = 1, /* its body comes, and nobody wants it: `response` is there already */
	EXCHANGE_WAITING = 2, /* for its answer */
	EXCHANGE_READY = 3,   /* `response` is to be sent */
	EXCHANGE_SENDING = 4,
	EXCHANGE_GIVEN_UP = 5, /* the connection is closed */
};

/* One request and its answer. */
struct exchange {
	struct server *server;
	struct agent *agent;
	struct visitor *visitor; /* the connection that it came by */
	struct MHD_Connection *connection;
	const struct route *route;
	const char *method, *path; /* the path without its query, decoded */
	char rest[256];            /* of the path, what the route leaves open: an id */
	char *body;                /* with a NUL behind it; NULL: none */
	size_t body_length;
	void *work; /* see exchange_set_work() */
	/* The server's own. */
	void (*end_work)(void *work);
	ssize_t (*read)(void *work, char *buffer, size_t size);
	void (*beat)(void *work);
	enum exchange_state state;
	bool is_suspended;
	size_t body_room;
	uint64_t passed_over; /* bytes of a body that nobody wants */
	unsigned status;
	struct MHD_Response *response;
	sd_event_source *gone; /* while it is suspended: tells whether the client is still there */
};

struct server_options {
	struct manager *manager;
	struct mcp *mcp;
	uint64_t request_ms;   /* for a request to come, from its first line to the end of its body */
	uint64_t idle_exit_ms; /* with nobody connected and nothing that runs for so long, the loop is left; 0: never */
};

/* Borrows what it is given. */
_must_check_ int server_new(struct agent *agent, struct entry *entry, struct access *access, const struct server_options *options,
                            struct server **ret_server, struct yett_error *error);

/* Ends all connections, and gives up what goes on for them. Takes NULL. */
void server_free(struct server *server);

struct access *server_access(struct server *server);
struct manager *server_manager(const struct server *server);
struct mcp *server_mcp(const struct server *server);

/* When it was made: CLOCK_MONOTONIC, in milliseconds. */
uint64_t server_started_ms(const struct server *server);

/* --- for routes ---------------------------------------------------------------------------------------------------------------------- */

/*
 * Answers it: in its route's function, or later. `response` is taken; NULL: there was no memory, and the connection is closed. What comes
 * after an answer is dropped.
 */
void exchange_answer(struct exchange *exchange, unsigned status, struct MHD_Response *response);

/*
 * Answers it with what `read` gives, as it comes: of the exchange's work so many bytes; 0: nothing just now, until exchange_wake(); -1:
 * that was all. `beat` is called when there was nothing for a minute, so that what leads here does not take it for dead.
 */
void exchange_stream(struct exchange *exchange, const char *type, ssize_t (*read)(void *work, char *buffer, size_t size),
                     void (*beat)(void *work));
void exchange_wake(struct exchange *exchange);

/* What goes on for it: `end` is called once, with the end of the exchange, be it answered or its client gone. NULL: nothing any more. */
void exchange_set_work(struct exchange *exchange, void *work, void (*end)(void *work));

/* A header, or a member of the query, as the client sent it; NULL: none. Borrowed. */
const char *exchange_header(const struct exchange *exchange, const char *name);
const char *exchange_query(const struct exchange *exchange, const char *name);
