/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that the resolver is looking up, and a cache of its recent answers.
 *
 * A name is sent only once, however many asks wait for its answer. When a resolver ends, its open
 * questions are sent to the second one; when that ends, all lookups fail. Runs without privilege;
 * nothing here blocks. Answers are not trusted (resolver.h).
 */
#pragma once

#include "programs/net/egress.h"
#include "programs/net/resolver.h"

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
	struct resolver_answer answer; /* `id` is also the id of the question */
};

struct lookup {
	/* Owned. The first that is not -1 is in use; -1: that resolver has ended. */
	int sockets[LOOKUP_RESOLVERS];
	uint32_t last_id;
	size_t names_end; /* slots at and above this index were never used */
	struct lookup_name names[LOOKUP_NAMES_MAX];
};

/* The socket to poll, also for writing if lookup_is_waiting(); -1: no resolver is left. */
int lookup_socket(const struct lookup *lookup);
bool lookup_is_waiting(const struct lookup *lookup);

/*
 * Starts to look up a name, or finds it in progress or cached. Returns its index in `names`, whose
 * state is KNOWN at once, or later after lookup_receive(). Returns -EAGAIN if too many lookups are
 * in progress. The index stays valid until the answer is KNOWN. Read a known answer at once: the
 * next lookup may reuse its slot.
 */
_must_check_ int lookup_begin(struct lookup *lookup, const char *name, uint64_t now_ms);

/* Sends waiting questions while the socket has room. */
void lookup_send(struct lookup *lookup, uint64_t now_ms);

/*
 * Receives one packet, after which names may be KNOWN. If the resolver has ended or sent an invalid
 * answer, closes its socket and uses the next resolver; without one, all names fail.
 */
void lookup_receive(struct lookup *lookup, uint64_t now_ms);
