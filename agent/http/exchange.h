/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP request and its answer, which the route gives at once or later. Detects clients that go
 * away.
 *
 * The routes interpret the request. While a route is working, the connection is suspended in
 * libmicrohttpd. Runs with the caller's privilege.
 */
#pragma once

#include <microhttpd.h>

#include "agent/http/server.h"

#define EXCHANGE_BODY_MAX ((size_t)10 << 20)

#define EXCHANGE_SENDING_MS 120000u /* for the client to read the answer */

struct exchange;

enum route_flag {
	ROUTE_OPEN = 1,  /* served also without the token: only to exchange `once` for the cookie */
	ROUTE_PLAIN = 2, /* of the compatibility API, whose errors are plain text */
};

struct route {
	const char *method; /* "GET" stands for HEAD, too */
	/* "/status/" and a star, which matches any text without '/': the request's `rest`. */
	const char *path;
	uint32_t flags; /* bits of enum route_flag */
	/* Answers at once, or arranges for a later answer. */
	void (*answer)(struct exchange *exchange);
	/* For OpenAPI: */
	const char *summary;
	const char *type;         /* content type of the answer; NULL: JSON */
	const char *const *query; /* Names of query parameters; ends with NULL. NULL: none. */
};

enum exchange_state {
	EXCHANGE_READING = 0, /* reading the body */
	EXCHANGE_PASSING = 1, /* `response` is set; reading and dropping the body */
	EXCHANGE_WAITING = 2, /* for the route's answer */
	EXCHANGE_READY = 3,   /* `response` can be sent */
	EXCHANGE_SENDING = 4,
	EXCHANGE_GIVEN_UP = 5, /* the connection must be closed */
};

/* One request and its answer. */
struct exchange {
	struct server *server;
	struct agent *agent;
	struct visitor *visitor; /* the connection of the request */
	struct MHD_Connection *connection;
	const struct route *route;
	const char *method, *path; /* the path is decoded, without the query */
	char rest[256];            /* the part of the path that matches the route's star: an id */
	char *body;                /* followed by a NUL; NULL: none */
	size_t body_length;
	void *work; /* see exchange_set_work() */
	/* For exchange.c and receiver.c: */
	void (*end_work)(void *work);
	ssize_t (*read)(void *work, char *buffer, size_t size);
	void (*beat)(void *work);
	enum exchange_state state;
	bool is_suspended;
	size_t body_room;
	uint64_t passed_over; /* bytes of the body that were dropped */
	unsigned status;
	struct MHD_Response *response;
	sd_event_source *gone; /* while suspended: watches for the client going away */
};

/* --- for routes ------------------------------------------------------------------------------- */

/*
 * Answers the request, from the route's function or later. Takes ownership of `response`; NULL: no
 * memory, and the connection is closed. Answers after the first are dropped.
 */
void exchange_answer(struct exchange *exchange, unsigned status, struct MHD_Response *response);

/*
 * Answers with a stream. `read` gets the exchange's work, and returns the number of bytes written
 * to `buffer`; 0: nothing now, wait for exchange_wake(); -1: end of the stream. `beat` is called
 * after a minute without data, to keep proxies from closing the idle connection.
 */
void exchange_stream(struct exchange *exchange, const char *type,
                     ssize_t (*read)(void *work, char *buffer, size_t size),
                     void (*beat)(void *work));
void exchange_wake(struct exchange *exchange);

/*
 * Sets the work in progress for this exchange. `end` is called once, when the exchange ends, after
 * the answer or because the client is gone. NULL: no work any more.
 */
void exchange_set_work(struct exchange *exchange, void *work, void (*end)(void *work));

/* A header or a query parameter, as the client sent it, borrowed; NULL: none. */
const char *exchange_header(const struct exchange *exchange, const char *name);
const char *exchange_query(const struct exchange *exchange, const char *name);

/* --- for the server --------------------------------------------------------------------------- */

/* Waits for the route's answer, or for more of a stream. */
void exchange_suspend(struct exchange *exchange);

void exchange_drop_body(struct exchange *exchange);

/* The connection's deadline has passed. */
void exchange_expire(struct visitor *visitor);

/* The client is gone, or the server ends. */
void exchange_give_up(struct exchange *exchange);

/* Accepts NULL. */
void exchange_free(struct exchange *exchange);
