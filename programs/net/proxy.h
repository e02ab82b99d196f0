/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the proxy (yett-front), and the interfaces between its parts.
 *
 * One process, one loop, no threads. Nothing in the loop blocks except epoll_wait(2). Runs without
 * privilege: proxy_lock_down() in proxy.c has dropped it.
 */
#pragma once

#include "programs/net/egress.h"
#include "programs/net/flow.h"
#include "programs/net/synthetic.h"
#include "programs/net/ruleset.h"
#include "programs/net/tokens.h"

#define PROXY_EXIT_CONFUSED 100 /* the connector sent an invalid packet */
/* New rules could not be mapped: exit, so that nothing is allowed */
#define PROXY_EXIT_MEMORY 101

#define PROXY_DNS_PORT 53
/* No resolver sends a larger query, and no real network carries such a datagram. */
#define PROXY_DNS_QUERY_MAX  1500
#define PROXY_DNS_ANSWER_MAX 1232 /* DNS_UDP_SIZE_MAX */

#define PROXY_STREAMS_MAX 16 /* connections for DNS over TCP at once */
#define PROXY_STREAM_S    10 /* time to send a query, and to take its answer */

/*
 * The source of an epoll event. The event's data also has the id of the stream or connection,
 * because the number of a slot is used again.
 */
enum proxy_source {
	PROXY_CONNECTOR,
	PROXY_LISTENER, /* the id is the listener's descriptor */
	PROXY_DNS,
	PROXY_STREAM,
	PROXY_INSIDE,
	PROXY_OUTSIDE,
};

enum proxy_connection_state {
	PROXY_FREE,
	PROXY_UNASKED, /* the socket to the connector was full */
	PROXY_ASKED,
	/*
	 * The program has reset the connection before the connector's answer. The slot stays in use
	 * until then.
	 */
	PROXY_GONE,
	PROXY_OPEN,
	/*
	 * The connector refused the connection, which is reset after the program sends something,
	 * or a moment later.
	 */
	PROXY_REFUSED,
};

struct proxy_connection {
	enum proxy_connection_state state;
	uint32_t id;
	bool is_due;
	uint64_t reset_us;          /* REFUSED: when to reset it at the latest */
	bool is_starved[FLOW_WAYS]; /* data could go, but no tokens are left */
	struct flow flow;           /* has an outer socket only in state OPEN */
};

struct proxy_stream {
	uint32_t id; /* 0: free */
	int socket;
	uint64_t deadline_us;
	uint16_t in_bytes, out_bytes, out_sent;
	uint8_t in[2 + PROXY_DNS_QUERY_MAX];
	uint8_t out[2 + PROXY_DNS_ANSWER_MAX];
};

struct proxy {
	int epoll;
	bool has_ipv6, has[PROXY_FD_END]; /* `has`: which descriptors of enum proxy_fd are open */
	uint64_t now_us;                  /* time of this round of the loop */
	struct in6_addr prefix;
	struct ruleset rules;
	bool is_serving; /* the rules are the sandbox's, not only expected ones */
	struct synthetic *names;
	/*
	 * Indexes reserved for the names of NAME rules, whether or not the names have an index
	 * already.
	 */
	uint32_t names_kept;
	struct {
		bool is_full;    /* the socket is full: asks wait */
		uint64_t second; /* the second that `reports_count` counts in */
		unsigned reports_count;
		uint64_t reported_us; /* when `told` was sent; 0: never */
		struct egress_ask reports;
	} connector;
	struct {
		struct proxy_connection slots[EGRESS_CONNECTIONS_MAX];
		/* The limit of connections, and their number; slots from `end` on are free. */
		uint32_t max, used, end;
		uint32_t next_number; /* makes the ids of slots */
		uint32_t first;       /* the slot that gets the first turn */
		uint32_t due, starved, refused;
		uint64_t paused_us; /* accept no connection until then; 0: not paused */
		struct tokens tokens[FLOW_WAYS];
	} connections;
	struct {
		struct proxy_stream slots[PROXY_STREAMS_MAX];
		uint32_t used, next_number;
	} streams;
};

/* Whether this descriptor of enum proxy_fd is a listener for connections. */
static inline bool proxy_has_listener(const struct proxy *proxy, int fd)
{
	return proxy->has[fd] &&
	       (fd == PROXY_FD_TCP4 || fd == PROXY_FD_TCP6 || fd >= PROXY_FD_PORTS);
}

/* proxy.c */

/* Makes epoll watch a socket. Returns 0 or -errno. */
_must_check_ int proxy_watch(struct proxy *proxy, int socket, enum proxy_source source, uint32_t id,
                             uint32_t events);

/*
 * Sends a packet to the connector. Returns 0, or -EAGAIN if the socket is full;
 * proxy_connections_ask() is called when it has room again. Ends the process if the connector is
 * gone.
 */
_must_check_ int proxy_send(struct proxy *proxy, const struct egress_ask *ask);

/*
 * Reports to the connector a name that no rule allows, or a connection above the limit. Sends equal
 * reports once a second, and limits all reports per second.
 */
void proxy_report(struct proxy *proxy, const struct egress_ask *ask);
void proxy_report_unknown(struct proxy *proxy, const char *name);

/* proxy_dns.c */

/*
 * Reserves an index for each name that a rule spells out, so that names below a wildcard cannot use
 * up all indexes.
 */
void proxy_dns_keep(struct proxy *proxy);

/*
 * Writes the answer to one message of a datagram or a stream into `out`. Returns its length, or 0
 * for no answer. Sets `unknown` to the name if no rule allows it, otherwise to "".
 */
_must_check_ size_t proxy_dns_answer(const struct proxy *proxy, const uint8_t *bytes, size_t size,
                                     bool is_stream, uint8_t out[PROXY_DNS_ANSWER_MAX],
                                     char unknown[NET_NAME_SIZE]);

/*
 * Makes the kernel report the destination address of datagrams, and lets answers be sent from it.
 */
_must_check_ bool proxy_dns_prepare(int socket);

/* Answers some of the waiting datagrams, each from the address to which it was sent. */
void proxy_dns_serve(struct proxy *proxy);

/* proxy_stream.c: DNS over TCP. RFC 7766 */

/* Takes a connection. If there are too many, resets the one that has been silent for longest. */
void proxy_stream_take(struct proxy *proxy, int socket);

void proxy_stream_heard(struct proxy *proxy, uint32_t id);

/* Resets streams that are too slow. Returns the milliseconds until the next deadline, or -1. */
int proxy_streams_expire(struct proxy *proxy);

/* proxy_connections.c */

/* Prepares a listener before its first connection. */
_must_check_ bool proxy_connections_prepare(int listener);

/* Accepts some connections of a listener, and asks the connector about each. */
void proxy_connections_accept(struct proxy *proxy, int listener);

/* Sends the asks that wait for room in the connector's socket. */
void proxy_connections_ask(struct proxy *proxy);

/*
 * Handles an answer of the connector. Takes `outside`, which is -1 if the answer is an error.
 * Returns false if `outside` is no TCP socket.
 */
_must_check_ bool proxy_connections_answer(struct proxy *proxy, uint32_t id, int outside);

void proxy_connections_heard(struct proxy *proxy, enum proxy_source source, uint32_t id,
                             uint32_t events);

/* Moves data of all connections that have some, each for one turn. */
void proxy_connections_run(struct proxy *proxy);

/*
 * Milliseconds until proxy_connections_run() or proxy_connections_accept() must be called without
 * an event, or -1.
 */
int proxy_connections_wait_ms(struct proxy *proxy);
