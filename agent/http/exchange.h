/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One HTTP request and its answer. Reads the body, lets the route answer at once or later, and
 * detects clients that go away.
 *
 * The routes interpret the request. While a route is working, the connection is suspended in
 * libmicrohttpd. Runs with the caller's privilege.
 */
#pragma once

#include <microhttpd.h>

#include "agent/agent.h"

#define EXCHANGE_BODY_MAX ((size_t)10 << 20)

struct server;
struct route;

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
	/* Private to exchange.c: */
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

/*
 * Callbacks of libmicrohttpd: the request line was read; the headers, a part of the body, or the
 * whole request was read; the exchange is over.
 */
void *exchange_on_line(void *data, const char *uri, struct MHD_Connection *connection);
enum MHD_Result exchange_on_request(void *data, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *upload,
                                    size_t *upload_size, void **context);
void exchange_on_completed(void *data, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code);

/* The connection's deadline has passed. */
void exchange_expire(struct visitor *visitor);

/* The client is gone, or the server ends. */
void exchange_give_up(struct exchange *exchange);

/* Accepts NULL. */
void exchange_free(struct exchange *exchange);
