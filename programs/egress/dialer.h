/*
 * The dialer's state, and what its parts do for one another: asks of the front become attempts to
 * connect, and those connections.
 *
 * One process without threads, as the caller and without privilege; nothing waits but dialer_run()
 * for all of it. See egress.h for whom it hears, and what is believed: nothing.
 */
#pragma once

#include "programs/egress/dialer_rules.h"
#include "programs/egress/lookup.h"
#include "programs/egress/told.h"
#include "programs/egress/tunnel.h"

#define DIALER_ASKS_MAX (EGRESS_CONNECTIONS_MAX + 1) /* one is refused at a time */
/* half of them at most have ended, but for what is still to be sent */
#define DIALER_CONNECTIONS_MAX (2 * EGRESS_CONNECTIONS_MAX)
#define DIALER_ATTEMPTS_MAX    4    /* of one ask at once */
#define DIALER_STAGGER_MS      250  /* RFC 8305, 5 */
#define DIALER_ATTEMPT_MS      7000 /* then another address may have its place */
#define DIALER_ASK_MS          30000
#define DIALER_ENDING_MS       5000
#define DIALER_HELD_MAX        64 /* that wait for somebody who is asked about them, */
#define DIALER_HELD_MS         8000 /* each for so long: programs do not wait much longer for an answer */
/* where too many descriptors of the user's are on their way: ETOOMANYREFS, unix(7) */
#define DIALER_RETRY_MS 20

/* What a descriptor that is waited for belongs to. */
enum dialer_source {
	DIALER_SOURCE_FRONT,
	DIALER_SOURCE_SUPERVISOR,
	DIALER_SOURCE_RESOLVER,
	DIALER_SOURCE_ATTEMPT, /* index: of the ask, times DIALER_ATTEMPTS_MAX, and of the attempt
	                        */
	DIALER_SOURCE_CONNECTION, /* index: of the connection */
};

/* Where a connection leads, and why it may. */
struct dialer_target {
	char name[NET_NAME_SIZE]; /* empty: it was made to the address */
	uint16_t port;
	struct net_address address;
	uint32_t origin;
	bool has_proxy; /* then the address is what the program wanted, or zeros, and not where the
	                   proxy is */
	uint32_t asked, answered; /* bytes that were the proxy's */
};

enum ask_state {
	ASK_FREE,
	ASK_LOOKUP, /* its name is asked for */
	ASK_DIALING,
	ASK_HELD,     /* somebody is asked whether it may be: other rules may allow it */
	ASK_TUNNEL,   /* the proxy is connected, and asked */
	ASK_ANSWERED, /* but for that the front has not taken it yet */
};

struct attempt {
	int fd; /* -1: none; owned */
	uint64_t since_ms;
	struct net_address address;
	uint32_t origin;        /* of the rule that it rests on, */
	uint32_t rules_changes; /* as they were then */
};

struct ask {
	enum ask_state state;
	uint32_t id;
	struct dialer_target target; /* with an address when that is known */
	uint16_t port;               /* that is connected: the target's, or the proxy's */
	uint64_t deadline_ms, next_ms;
	uint64_t held_ms; /* until when it is held; 0: it never was */
	int lookup;       /* LOOKUP: index of the name */
	struct tunnel tunnel;
	uint32_t count, next;
	struct net_address addresses[RESOLVER_ADDRESSES_MAX];
	struct attempt attempts[DIALER_ATTEMPTS_MAX];
	int error;                    /* of the last attempt that failed; 0: none has */
	enum net_verdict denied;      /* of the first address that is, or can be asked about: why */
	struct dialer_target refused; /* which that is */
	int answer;                   /* ANSWERED: errno for the front */
	int fd;                       /* ANSWERED with 0: the connection; owned */
};

enum connection_state {
	CONNECTION_FREE,
	CONNECTION_OPEN,
	CONNECTION_ENDING, /* shut down, and something of it is not sent yet */
};

struct connection {
	enum connection_state state;
	int fd; /* a duplicate of the front's; owned */
	struct dialer_target target;
	enum net_verdict cut; /* why it was cut; ALLOWED: it was not */
	bool has_end;         /* the other side's end has come, which counts as a byte received */
	uint64_t deadline_ms;
};

struct dialer {
	int front, supervisor, epoll, netlink;
	uint32_t front_events, supervisor_events, resolver_events; /* what is waited for */
	int resolver; /* the socket that is waited for, or -1 */
	uint64_t now_ms;
	uint64_t retry_ms; /* when answers are tried again; 0: at once */
	bool front_is_full, supervisor_is_full;
	bool is_serving; /* the rules are those of the sandbox, and not only expected */
	int rules_due;   /* the memory of rules that the front has not taken yet, or -1; owned */
	struct ruleset rules;
	uint32_t rules_changes; /* so often were others taken */
	struct lookup lookup;
	struct told told;
	size_t asks_end, connections_end; /* none was used at or after this index */
	struct ask asks[DIALER_ASKS_MAX];
	struct connection connections[DIALER_CONNECTIONS_MAX];
};

/* Serves until the front or the supervisor ends, or sends what is no packet: 0 and -EBADMSG. Else
 * -errno. */
_must_check_ int dialer_run(struct dialer *dialer);

/* Waits for `events` of the descriptor, or no longer. False: it cannot. */
_must_check_ bool dialer_watch(const struct dialer *dialer, int fd, uint32_t events,
                               enum dialer_source source, size_t index);
void dialer_unwatch(const struct dialer *dialer, int fd);

/* Tells the supervisor, in time. Of `one` only what is not the target's need be filled in. */
void dialer_tell(struct dialer *dialer, const struct dialer_target *target, struct egress_told one);

/* What is decided about where it leads: by way of the proxy, or by the address that is connected.
 */
struct dialer_verdict dialer_decide(const struct dialer *dialer, const struct dialer_target *target,
                                    const struct net_address *address);

/* Whether a packet of the front is one that it may send; whatever it has to say of ids is
 * asks_add()'s. */
bool asks_is_sound(const struct egress_ask *ask);

/* Takes what the front asks for. False: the id is asked about already. */
_must_check_ bool asks_add(struct dialer *dialer, const struct egress_ask *ask);

/* Goes on with those whose name is known now, whose attempt is ready, and whose time has come; when
 * that will be. */
void asks_advance_known(struct dialer *dialer);
void asks_advance_attempt(struct dialer *dialer, size_t index);
void asks_advance_time(struct dialer *dialer);
uint64_t asks_next_ms(const struct dialer *dialer);

/* Other rules are in force: what they do not allow is denied, though the front was about to have
 * it. */
void asks_check(struct dialer *dialer);

/* Gives the front what it has not taken yet. 0; -EAGAIN: it takes nothing more for now; else it is
 * gone. */
_must_check_ int asks_answer(struct dialer *dialer);
bool asks_are_answered(const struct dialer *dialer);

/* How many the front has that have not ended, or will have; whether it may have one more. */
uint32_t connections_count(const struct dialer *dialer);
bool connections_have_room(struct dialer *dialer);

/* Keeps the connected socket, and counts what goes through it. */
void connections_take(struct dialer *dialer, int fd, const struct dialer_target *target);

/* Something became of one, by epoll(7); of all, whatever the rules do not allow is cut; whose time
 * has come is over. */
void connections_advance(struct dialer *dialer, size_t index, uint32_t events);
void connections_check(struct dialer *dialer);
void connections_advance_time(struct dialer *dialer);
uint64_t connections_next_ms(const struct dialer *dialer);
