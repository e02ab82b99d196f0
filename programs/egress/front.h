/*
 * What the parts of yett-front share: the state of one front, and what each part does with it.
 *
 * One process, one loop, no threads; nothing in it waits for anything else. Without privilege:
 * front.c says how it comes to that.
 */
#pragma once

#include "programs/egress/egress.h"
#include "programs/egress/flow.h"
#include "programs/egress/fakes.h"
#include "programs/egress/ruleset.h"
#include "programs/egress/tokens.h"

#define FRONT_EXIT_CONFUSED 100 /* what the dialer sent is no packet of its */
#define FRONT_EXIT_MEMORY   101 /* new rules could not be had: then nothing is allowed */

#define FRONT_DNS_PORT 53
/* no resolver sends more, and no datagram does on a real network */
#define FRONT_DNS_QUERY_MAX  1500
#define FRONT_DNS_ANSWER_MAX 1232 /* DNS_UDP_SIZE_MAX */

#define FRONT_STREAMS_MAX 16 /* of DNS over TCP, at once */
#define FRONT_STREAM_S    10 /* to ask something in, and to take the answer */

/* What an event of epoll is about; the id of a stream or connection, with which its number is used
 * again, is beside it. */
enum front_source {
	FRONT_DIALER,
	FRONT_LISTENER, /* the id is its descriptor */
	FRONT_DNS,
	FRONT_STREAM,
	FRONT_INSIDE,
	FRONT_OUTSIDE,
};

enum front_connection_state {
	FRONT_FREE,
	FRONT_UNASKED, /* there was no room to ask the dialer */
	FRONT_ASKED,
	FRONT_GONE, /* asked, and the program has reset it since: its number is not free until the
	               answer */
	FRONT_OPEN,
	FRONT_REFUSED, /* by the dialer: reset once the program has sent something, or a moment
	                  later */
};

struct front_connection {
	enum front_connection_state state;
	uint32_t id;
	bool is_due;
	uint64_t reset_us;          /* of a refused one, when it is reset at the latest */
	bool is_starved[FLOW_WAYS]; /* there are no tokens for what could go */
	struct flow flow;           /* without an outer socket unless OPEN */
};

struct front_stream {
	uint32_t id; /* 0: free */
	int socket;
	uint64_t deadline_us;
	uint16_t in_bytes, out_bytes, out_sent;
	uint8_t in[2 + FRONT_DNS_QUERY_MAX];
	uint8_t out[2 + FRONT_DNS_ANSWER_MAX];
};

struct front {
	int epoll;
	bool has_ipv6, has[FRONT_FD_END]; /* of enum front_fd: those that are there */
	uint64_t now_us;                  /* of this round */
	struct in6_addr prefix;
	struct ruleset rules;
	bool is_serving; /* they are those of the sandbox, and not only expected */
	struct fakes *names;
	uint32_t names_kept; /* so many are for names that rules spell out; those that have one
	                        already are counted, too */
	struct {
		bool is_full;    /* asks wait until it reads */
		uint64_t second; /* in which `told_count` were told */
		unsigned told_count;
		uint64_t told_us; /* when `told` was; 0: nothing was */
		struct egress_ask told;
	} dialer;
	struct {
		struct front_connection slots[EGRESS_CONNECTIONS_MAX];
		uint32_t max, used,
			end; /* how many there may be and are; above `end` there are none */
		uint32_t next_number; /* which makes ids of slots */
		uint32_t first;       /* who has the first turn */
		uint32_t due, starved, refused;
		uint64_t paused_us; /* until then none are accepted; 0: they are */
		struct tokens tokens[FLOW_WAYS];
	} connections;
	struct {
		struct front_stream slots[FRONT_STREAMS_MAX];
		uint32_t used, next_number;
	} streams;
};

/* Whether connections are accepted from a descriptor of enum front_fd. */
static inline bool front_has_listener(const struct front *front, int fd)
{
	return front->has[fd] &&
	       (fd == FRONT_FD_TCP4 || fd == FRONT_FD_TCP6 || fd >= FRONT_FD_PORTS);
}

/* front.c */

/* Has epoll tell of a socket. 0 or -errno. */
_must_check_ int front_watch(struct front *front, int socket, enum front_source source, uint32_t id,
                             uint32_t events);

/* Sends a packet to the dialer: 0, or -EAGAIN where it has no room, of which front_answers() will
 * hear the end. Without a dialer there is no front either. */
_must_check_ int front_send(struct front *front, const struct egress_ask *ask);

/* Tells the dialer of a name that no rule allows, or of a connection too many: what is alike once a
 * second, and no more than it is of use.
 */
void front_tell(struct front *front, const struct egress_ask *ask);
void front_tell_unknown(struct front *front, const char *name);

/* front_dns.c */

/* Keeps an address for each name that rules spell out: names below a wildcard do not use up those.
 */
void front_dns_keep(struct front *front);

/*
 * The answer to one message, of a datagram or a stream, into `out`: its length, or 0 if there is to
 * be none. `unknown` becomes the name that no rule allows, or empty.
 */
_must_check_ size_t front_dns_answer(const struct front *front, const uint8_t *bytes, size_t size,
                                     bool is_stream, uint8_t out[FRONT_DNS_ANSWER_MAX],
                                     char unknown[NET_NAME_SIZE]);

/* Makes the socket tell, and take, the addresses that datagrams go to and come from. */
_must_check_ bool front_dns_prepare(int socket);

/* Answers some of the datagrams that are there, each from the address that it was sent to. */
void front_dns_serve(struct front *front);

/* front_stream.c: DNS over TCP. RFC 7766 */

/* Takes a connection. Where there are too many, that which has been silent for longest is reset. */
void front_stream_take(struct front *front, int socket);

void front_stream_heard(struct front *front, uint32_t id);

/* Resets those that were too slow. Milliseconds until the next one is, or -1. */
int front_streams_expire(struct front *front);

/* front_connections.c */

/* Of a listener: before its first connection. */
_must_check_ bool front_connections_prepare(int listener);

/* Accepts some connections of a listener, and has the dialer asked where each may go. */
void front_connections_accept(struct front *front, int listener);

/* The dialer has room again. */
void front_connections_ask(struct front *front);

/* Its answer. Takes `outside`, -1 if the answer is an error. False: what came is no socket of TCP.
 */
_must_check_ bool front_connections_answer(struct front *front, uint32_t id, int outside);

void front_connections_heard(struct front *front, enum front_source source, uint32_t id,
                             uint32_t events);

/* Moves what can be moved, each connection for a turn. */
void front_connections_run(struct front *front);

/* Milliseconds until front_connections_run() or front_connections_accept() has something to do by
 * itself, or -1. */
int front_connections_wait_ms(struct front *front);
