/*
 * Who may connect: by numbers of connections, by what a user's last ones cost, and by the user
 * namespace that the peer is in. It reads no byte of a client's. As the listener is: root, with
 * capabilities only where that is said.
 */
#pragma once

#include "base/error.h"
#include "helper/listener/closer.h"

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define CONNECTIONS_MAX 2048
#define DEBTS           1024

/* A forked monitor: ready, or serving a connection. */
struct worker {
	int control;                 /* a connected socket goes there; wishes come back */
	uid_t uid;                   /* or of whoever made the user namespace that it comes from */
	bool is_serving, is_settled; /* settled: what its beginning cost was given back */
	bool is_waiting;   /* it has a connection, and does nothing for it before its turn */
	bool gives_way;    /* has been told so */
	bool *is_proven;   /* shared with it: it was granted something */
	uint64_t since_ms; /* when it began to serve, or to wait */
};

struct admission {
	struct stat user_ns; /* ours */
	long processors;
	/* By user, through a hash that nobody knows: until when what it began is not paid for, and
	 * when the last one began that was granted something. */
	uint64_t debts_ms[DEBTS], granted_ms[DEBTS], debts_key;
};

/* Of the listening socket: with a short queue, in which whoever connects in a loop stands before
 * everybody else. */
_must_check_ int admission_open(struct admission *a, int listening);

/* Looks at a connected socket so that whoever is gone, or comes too often, costs no more than this.
 * 0, or why it is not served. */
_must_check_ enum closer_reason admission_glance(struct admission *a, int socket,
                                                 struct ucred *ret_peer);

/*
 * Whether the peer may have one connection more besides those of the workers, of which an old one
 * may be told to give way. `ret_uid` is whom it counts for. With CAP_SYS_PTRACE, to look at the
 * peer's namespace. 0, or why not.
 */
_must_check_ enum closer_reason admission_examine(struct admission *a, const struct ucred *peer,
                                                  bool allows_confined, struct worker *workers,
                                                  size_t count, uid_t *ret_uid);

/*
 * Has those begin whose turn it is, the oldest first. Users who were granted something lately share
 * the processors: each may begin as many connections at once as that gives, so that whoever comes
 * with a hundred takes no more from others than with one. Whether anybody still waits.
 */
bool admission_give_turns(struct admission *a, struct worker *workers, size_t count);

/* What was granted something costs its user nothing. */
void admission_settle(struct admission *a, struct worker *worker);
