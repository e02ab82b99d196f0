/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the connector (yett-dialer), and the interfaces between its parts. Asks of the proxy
 * (yett-front) become attempts to connect, and successful attempts become connections.
 *
 * One process without threads, as the caller, without privilege. Only connector_run() waits, for
 * all descriptors at once. The peers (egress.h) are not trusted.
 */
#pragma once

#include "programs/net/connector_rules.h"
#include "programs/net/lookup.h"
#include "programs/net/reports.h"
#include "programs/net/tunnel.h"

#define CONNECTOR_ASKS_MAX (EGRESS_CONNECTIONS_MAX + 1) /* one more, for an ask that is refused */
/*
 * At most half of the slots are open connections. The others may be ENDING: ended, with data left
 * to send.
 */
#define CONNECTOR_CONNECTIONS_MAX (2 * EGRESS_CONNECTIONS_MAX)
#define CONNECTOR_ATTEMPTS_MAX    4   /* per ask, at once */
#define CONNECTOR_STAGGER_MS      250 /* RFC 8305, 5 */
/* After this time another address may take the attempt's slot. */
#define CONNECTOR_ATTEMPT_MS 7000
#define CONNECTOR_ASK_MS     30000
#define CONNECTOR_ENDING_MS  5000
#define CONNECTOR_HELD_MAX   64 /* asks that wait at once for the user to allow them */
/* How long an ask waits: programs do not wait much longer for a connection. */
#define CONNECTOR_HELD_MS 8000
/*
 * Wait before the next try to send descriptors, if the user has too many in flight: ETOOMANYREFS,
 * unix(7)
 */
#define CONNECTOR_RETRY_MS 20

/* The owner of a descriptor that epoll watches. */
enum connector_source {
	CONNECTOR_SOURCE_PROXY,
	CONNECTOR_SOURCE_SUPERVISOR,
	CONNECTOR_SOURCE_RESOLVER,
	/* Index: (index of the ask) * CONNECTOR_ATTEMPTS_MAX + (index of the attempt) */
	CONNECTOR_SOURCE_ATTEMPT,
	CONNECTOR_SOURCE_CONNECTION, /* index: of the connection */
};

/* The target of a connection, and the rule that allows it. */
struct connector_target {
	char name[NET_NAME_SIZE]; /* empty: the program connected to the address */
	uint16_t port;
	struct net_address address;
	uint32_t origin;
	/*
	 * Connects through the HTTP proxy. `address` is then the address that the program wanted,
	 * or zeros; never the HTTP proxy's.
	 */
	bool has_proxy;
	uint32_t asked, answered; /* bytes sent to and received from the HTTP proxy itself */
};

enum ask_state {
	ASK_FREE,
	ASK_LOOKUP, /* the resolver is looking up its name */
	ASK_DIALING,
	ASK_HELD,     /* no rule allows it yet: the user may change the rules */
	ASK_TUNNEL,   /* connected to the HTTP proxy, waiting for its answer */
	ASK_ANSWERED, /* the answer is waiting to be sent to the proxy (yett-front) */
};

struct attempt {
	int fd; /* -1: none; owned */
	uint64_t since_ms;
	struct net_address address;
	uint32_t origin;        /* of the rule that allowed the attempt */
	uint32_t rules_changes; /* value of dialer.rules_changes at that time */
};

struct ask {
	enum ask_state state;
	uint32_t id;
	struct connector_target target; /* `address` is filled in once it is known */
	uint16_t port;                  /* port to connect to: the target's or the HTTP proxy's */
	uint64_t deadline_ms, next_ms;
	uint64_t held_ms; /* end of the time in HELD; 0: the ask was never held */
	int lookup;       /* LOOKUP: index of the name */
	struct tunnel tunnel;
	uint32_t count, next;
	struct net_address addresses[RESOLVER_ADDRESSES_MAX];
	struct attempt attempts[CONNECTOR_ATTEMPTS_MAX];
	int error; /* errno of the last attempt that failed; 0: none */
	/*
	 * Why the first address that was not allowed was denied. ASKED takes the place of a denial.
	 * ALLOWED: no address was denied.
	 */
	enum net_verdict denied;
	struct connector_target refused; /* the target with that address */
	int answer;                      /* ANSWERED: errno for the proxy */
	int fd;                          /* ANSWERED with 0: the connection; owned */
};

enum connection_state {
	CONNECTION_FREE,
	CONNECTION_OPEN,
	CONNECTION_ENDING, /* shut down, but has unsent data */
};

struct connection {
	enum connection_state state;
	int fd; /* duplicate of the proxy's descriptor; owned */
	struct connector_target target;
	enum net_verdict cut; /* why the connection was cut; ALLOWED: it was not */
	/* The remote end has sent its FIN, which the kernel counts as a received byte. */
	bool has_end;
	uint64_t deadline_ms;
};

struct connector {
	int proxy, supervisor, epoll, netlink;
	/* The events that epoll watches. */
	uint32_t proxy_events, supervisor_events, resolver_events;
	int resolver; /* the socket that epoll watches, or -1 */
	uint64_t now_ms;
	uint64_t retry_ms; /* when to send answers again; 0: at once */
	bool proxy_is_full, supervisor_is_full;
	bool is_serving; /* the rules are the sandbox's, not only expected ones */
	int rules_due;   /* memory of rules that are not sent to the proxy yet, or -1; owned */
	struct ruleset rules;
	uint32_t rules_changes; /* number of changes of the rules */
	struct lookup lookup;
	struct reports reports;
	size_t asks_end, connections_end; /* slots at and above these were never used */
	struct ask asks[CONNECTOR_ASKS_MAX];
	struct connection connections[CONNECTOR_CONNECTIONS_MAX];
};

/*
 * Serves until the proxy or the supervisor ends (returns 0), or sends an invalid packet (-EBADMSG).
 * Returns -errno after another error.
 */
_must_check_ int connector_run(struct connector *connector);

/* Watches a descriptor for `events`, or stops watching. Returns false if epoll_ctl(2) fails. */
_must_check_ bool connector_watch(const struct connector *connector, int fd, uint32_t events,
                                  enum connector_source source, size_t index);
void connector_unwatch(const struct connector *connector, int fd);

/*
 * Queues a report to the supervisor. Fills in the target's members of `one`; the caller fills in
 * the others.
 */
void connector_report(struct connector *connector, const struct connector_target *target,
                      struct egress_report one);

/*
 * Decides about a target: for the HTTP proxy if target->has_proxy, otherwise for a connection to
 * `address`.
 */
struct connector_verdict connector_decide(const struct connector *connector,
                                          const struct connector_target *target,
                                          const struct net_address *address);

/* Whether a packet of the proxy is valid. asks_add() checks its id. */
bool asks_is_sound(const struct egress_ask *ask);

/* Takes an ask of the proxy. Returns false if an ask with this id is open, or no slot is free. */
_must_check_ bool asks_add(struct connector *connector, const struct egress_ask *ask);

/*
 * Advances the asks whose name is known, whose attempt has an event, or whose time has come.
 * asks_next_ms() returns when asks_advance_time() has something to do.
 */
void asks_advance_known(struct connector *connector);
void asks_advance_attempt(struct connector *connector, size_t index);
void asks_advance_time(struct connector *connector);
uint64_t asks_next_ms(const struct connector *connector);

/*
 * Applies new rules: begins held asks again, and denies connections that are ready for the proxy
 * but no longer allowed.
 */
void asks_check(struct connector *connector);

/*
 * Sends the proxy the rules and answers that wait to be sent. Returns 0; -EAGAIN if the socket is
 * full; -ETOOMANYREFS or -ENOBUFS, after which the caller must try again later; or another -errno
 * if the proxy is gone.
 */
_must_check_ int asks_answer(struct connector *connector);
bool asks_are_answered(const struct connector *connector);

/*
 * The number of connections that the proxy has open, including those about to be sent to it; and
 * whether it may have one more.
 */
uint32_t connections_count(const struct connector *connector);
bool connections_have_room(struct connector *connector);

/* Takes ownership of a connected socket, and counts its bytes at the end. */
void connections_take(struct connector *connector, int fd, const struct connector_target *target);

/*
 * connections_advance() handles epoll events of one connection. connections_check() cuts
 * connections that the rules no longer allow. connections_advance_time() finishes ENDING
 * connections whose time is over, and connections_next_ms() returns when that is.
 */
void connections_advance(struct connector *connector, size_t index, uint32_t events);
void connections_check(struct connector *connector);
void connections_advance_time(struct connector *connector);
uint64_t connections_next_ms(const struct connector *connector);
