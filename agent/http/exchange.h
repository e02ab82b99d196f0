/*
 * A request and its answer: its body is read, its route answers it, at once or later, and a client
 * that goes away is noticed.
 *
 * What is asked and answered is the routes' business. What goes on for longer is suspended
 * meanwhile. With the caller's privilege.
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
	int fd; /* libmicrohttpd's */
	bool is_tcp, is_refused;
	uid_t uid;
	uint64_t deadline_ms; /* 0: none */
	struct exchange *exchange;
	struct visitor *next, *before;
};

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

/* --- for routes ------------------------------------------------------------------------------- */

/*
 * Answers it: in its route's function, or later. `response` is taken; NULL: there was no memory,
 * and the connection is closed. What comes after an answer is dropped.
 */
void exchange_answer(struct exchange *exchange, unsigned status, struct MHD_Response *response);

/*
 * Answers it with what `read` gives, as it comes: of the exchange's work so many bytes; 0: nothing
 * just now, until exchange_wake(); -1: that was all. `beat` is called when there was nothing for a
 * minute, so that what leads here does not take it for dead.
 */
void exchange_stream(struct exchange *exchange, const char *type,
                     ssize_t (*read)(void *work, char *buffer, size_t size),
                     void (*beat)(void *work));
void exchange_wake(struct exchange *exchange);

/* What goes on for it: `end` is called once, with the end of the exchange, be it answered or its
 * client gone. NULL: nothing any more. */
void exchange_set_work(struct exchange *exchange, void *work, void (*end)(void *work));

/* A header, or a member of the query, as the client sent it; NULL: none. Borrowed. */
const char *exchange_header(const struct exchange *exchange, const char *name);
const char *exchange_query(const struct exchange *exchange, const char *name);

/* --- for the server --------------------------------------------------------------------------- */

/* For libmicrohttpd: the first line was read; a piece of the request, or all of it was; it is over.
 */
void *exchange_on_line(void *data, const char *uri, struct MHD_Connection *connection);
enum MHD_Result exchange_on_request(void *data, struct MHD_Connection *connection, const char *path,
                                    const char *method, const char *version, const char *upload,
                                    size_t *upload_size, void **context);
void exchange_on_completed(void *data, struct MHD_Connection *connection, void **context,
                           enum MHD_RequestTerminationCode code);

/* The time of what a visitor does is over. */
void exchange_expire(struct visitor *visitor);

/* Its client is gone, or the server ends. */
void exchange_give_up(struct exchange *exchange);

/* Takes NULL. */
void exchange_free(struct exchange *exchange);
