/*
 * Names on their way to the resolver, and what it has said of others a moment ago.
 *
 * A name is asked for once, however many wait for it. When a resolver ends, what it was asked goes
 * to the other one; after that, names fail. No privilege; nothing here waits. The answers are
 * believed in nothing (resolver.h).
 */
#pragma once

#include "programs/egress/egress.h"
#include "programs/egress/resolver.h"

#define LOOKUP_RESOLVERS  2
#define LOOKUP_CACHED_MAX 64
#define LOOKUP_NAMES_MAX  (EGRESS_CONNECTIONS_MAX + LOOKUP_CACHED_MAX)
#define LOOKUP_CACHED_MS  10000
#define LOOKUP_FAILED_MS  1000

enum lookup_state {
	LOOKUP_FREE,
	LOOKUP_WAITING, /* for room in the socket */
	LOOKUP_ASKED,
	LOOKUP_KNOWN,
};

struct lookup_name {
	enum lookup_state state;
	uint64_t known_until_ms;
	char name[NET_NAME_SIZE];
	struct resolver_answer answer; /* its id is that of the question */
};

struct lookup {
	int sockets[LOOKUP_RESOLVERS]; /* of those that are left, in the order in which they are
	                                  used; -1: it has ended; owned */
	uint32_t last_id;
	size_t names_end; /* none was used at or after this index */
	struct lookup_name names[LOOKUP_NAMES_MAX];
};

/* The socket to be polled, also for writing where lookup_is_waiting(); -1: there is no resolver any
 * more. */
int lookup_socket(const struct lookup *lookup);
bool lookup_is_waiting(const struct lookup *lookup);

/*
 * Asks for a name, or finds it asked for or known. Returns its index in `names`: KNOWN at once, or
 * later by lookup_receive(). -EAGAIN: too many are asked for. While somebody waits for it, it
 * stays; who does not come for an answer at once may find another name there.
 */
_must_check_ int lookup_begin(struct lookup *lookup, const char *name, uint64_t now_ms);

/* Sends what waits, as far as there is room. */
void lookup_send(struct lookup *lookup, uint64_t now_ms);

/* Takes one packet, after which names may be KNOWN. One that has ended or lied is given up for the
 * other; then all names fail. */
void lookup_receive(struct lookup *lookup, uint64_t now_ms);
