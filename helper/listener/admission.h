/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Admission control of the listener: how many connections are allowed, how much a user's recent
 * connections cost, and which user namespace a client is in.
 *
 * Runs in the listener, as root. Only functions that say so need a capability. Must never read a
 * byte that a client sent.
 */
#pragma once

#include "base/error.h"
#include "helper/listener/closer.h"

#include <sys/socket.h>

#define CONNECTIONS_MAX 2048
#define DEBTS           1024

/* A forked monitor: idle, or serving a connection. */
struct worker {
	/* The listener sends a client's socket; the monitor sends a struct monitor_need back. */
	int control;
	/* The peer's uid, or that of the owner of the user namespace that the peer is in. */
	uid_t uid;
	/*
	 * is_settled: the cost of the connection was refunded, or its user is root, who pays
	 * nothing.
	 */
	bool is_serving, is_settled;
	/* The monitor has a connection, and must not serve it before the monitor's turn. */
	bool is_waiting;
	bool gives_way; /* The listener asked the monitor to end. */
	/* In shared memory: the monitor sets it when its client was granted something. */
	bool *is_proven;
	uint64_t since_ms; /* when it started to serve or, while is_waiting, to wait */
};

struct admission {
	struct stat user_ns; /* of the listener */
	long processors;
	/*
	 * Both arrays are indexed by a hash of the uid, with the random key debts_key, so that no
	 * user can choose a uid that collides with another's. debts_ms: the time when the cost of
	 * the user's connections is paid off. granted_ms: the time when the listener last saw that
	 * a connection of the user was granted something; 0: never.
	 */
	uint64_t debts_ms[DEBTS], granted_ms[DEBTS], debts_key;
};

/*
 * Makes the listening socket non-blocking, with a short queue: a client that connects in a loop
 * fills the queue ahead of all other clients. Returns 0 or -errno.
 */
_must_check_ int admission_open(struct admission *a, int listening);

/*
 * Reads the peer's credentials, and checks whether the peer has hung up or its uid has connected
 * too often. Needs no privilege. Call this before admission_examine(), so that the listener does no
 * more work for such a client. Returns 0, or the reason for the refusal.
 */
_must_check_ enum closer_reason admission_glance(struct admission *a, int socket,
                                                 struct ucred *ret_peer);

/*
 * Decides whether the peer may have one more connection besides those of the workers. To make room,
 * an old connection that was granted nothing may be asked to end. Sets `ret_uid` to the uid that
 * the connection counts for. Needs CAP_SYS_PTRACE, to look at the peer's user namespace. Returns 0,
 * or the reason for the refusal.
 */
_must_check_ enum closer_reason admission_examine(struct admission *a, const struct ucred *peer,
                                                  bool allows_confined, struct worker *workers,
                                                  size_t count, uid_t *ret_uid);

/*
 * Lets waiting monitors start to serve, the oldest first. Users who were granted something lately
 * share the processors: each may have only its share of connections starting at the same time. So a
 * user with a hundred connections delays other users no more than a user with one. Returns whether
 * any monitor still waits.
 */
bool admission_give_turns(struct admission *a, struct worker *workers, size_t count);

/*
 * If the connection was granted something, refunds its cost to its user and sets that user's
 * granted_ms to now. Does so only once for each connection.
 */
void admission_settle(struct admission *a, struct worker *worker);
