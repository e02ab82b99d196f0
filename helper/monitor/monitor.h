/*
 * The monitor: one connection, from the client's connecting to its end.
 *
 * Root with an empty effective set (PRIVILEGE_MONITOR). It asks the kernel who has connected, and
 * carries out what yett-decider, which hears the client, asks for: each act is a row of one table,
 * and none is done that has none. It reads nothing that a client sent.
 */
#pragma once

#include "helper/monitor/decider.h"
#include "helper/monitor/reader.h"
#include "helper/privilege/place.h"
#include "helper/supervisor/supervisor.h"

struct policy;

/* A supervisor or a sweep that is to be reaped. */
struct monitor_child {
	pid_t pid;
	bool is_awaited; /* its sandbox ends with the connection, which waits for that */
};

struct monitor {
	/* What it can have ready before there is a connection: whoever starts it says so. */
	struct setup_host *host; /* NULL: nothing can be built, for the reason in `no_host`; only
	                            plans are made */
	struct yett_error no_host;
	const struct means *means; /* without root; NULL: root's can give everything */
	const struct policy *policy;
	const struct peer *caller; /* whom it serves, where the socket cannot tell: set-user-id, or
	                              without root. NULL: the socket's peer */
	struct place lasting; /* where supervisors are born whose sandboxes are to outlast us */
	int listener; /* asks for prepared supervisors here, and hears that it should give way; -1:
	                 there is none, and the policy is the connection's */
	const _Atomic uint64_t *generation; /* of the policy in force: memory of the listener's,
	                                       which each monitor maps */
	bool *is_proven; /* likewise: becomes true when something was granted. NULL: there is no
	                    listener */

	/* Its own. */
	struct program decider;
	int decider_id; /* the reservation of the id that the decider runs as; -1: it has its
	                   caller's */
	struct reader reader;
	int socket;  /* of the client */
	int process; /* pidfd of who connected: what outlives it of the connection does not count */
	struct peer peer;
	struct plan_asker
		asker; /* the same for the audit, with the key that the decider asked about last */
	struct decider_ask *ask; /* mapped; its pages are given back when idle */
	int rules;               /* memory with what the decider has told of them; -1: nothing */
	int taker; /* of the supervisor that takes the client's packet, until it has answered; -1 */
	struct monitor_child *children;
	size_t children_count;
	int pool, pool_end; /* without root: supervisors of ours announce themselves here when they
	                       are ready again; theirs. -1 */
	unsigned kept; /* supervisors that do so, and were not ended: at most as many as the policy
	                  has spares */
	bool has_created;
	unsigned acts_left; /* that the decider may ask for by the request that was counted last */
	uint64_t shut_ms;   /* when the connection ended; 0: it has not */
	bool has_streams;   /* the decider goes on for them */
	bool is_outdated; /* whether the policy that it goes by is in force could not be learned: it
	                     does nothing any more */
	bool is_over;
};
#define MONITOR_NONE                                                                    \
	.decider = PROGRAM_NONE, .decider_id = -1, .reader = READER_NONE, .socket = -1, \
	.process = -1, .pool = -1, .pool_end = -1, .rules = -1, .taker = -1, .lasting = PLACE_HERE

/* What the decider asks for: its packet, and where the parts of a plan come to lie. */
struct decider_ask {
	uint32_t act;  /* enum decider_act */
	size_t length; /* of what follows it */
	union {
		struct decider_key key;
		struct plan plan;
		struct supervisor_request request;
		struct decider_records records;
		struct yett_error refused;
		uint8_t rules[65536];
		struct {
			uint32_t level;
			char text[1024];
		} log;
	};
};

/* Starts yett-decider and yett-reader, which lie in `libexec`. 0 or -errno. */
_must_check_ int monitor_prepare(struct monitor *monitor, const char *libexec);

/* Serves the connected socket (consumed) until its end. 0, or -errno when it could not be served at
 * all. */
_must_check_ int monitor_serve(struct monitor *monitor, int socket);

/* In place of serving: tells who waits for a hello why there will be none; `r` as returned with the
 * error. */
void monitor_report(const char *libexec, int socket, int r, struct yett_error *error);

void monitor_free(struct monitor *monitor);

/* Monitor → listener: a prepared supervisor for this user, please. Answered with one byte, and its
 * socket if there is one. */
struct monitor_wish {
	uid_t uid;
	gid_t gid;
	uint32_t profile; /* of the sandbox that is asked for: one that is ready for it is preferred
	                   */
};

/* Whether the record is of a sandbox that the peer could have asked for, or manages: an
 * administrator's are all. */
bool monitor_may_see(const struct monitor *m, const struct record *record);

/* --- what it has to do with supervisors; supervisors.c --- */

/*
 * Whether the policy that this connection goes by is in force: asked of the listener at every
 * request, for nothing is decided by one that was replaced, or that nobody answers for. 0 or
 * HELPER_UNAVAILABLE.
 */
_must_check_ int supervisors_check_policy(const struct monitor *m, struct yett_error *error);

/* Hands the plan of `m->ask` to a supervisor; where it has shares, that takes the client's packet
 * itself. 0 with its socket, or a code. */
_must_check_ int supervisors_begin(struct monitor *m, int *ret_socket, struct yett_error *error);

/*
 * Passes the request of `m->ask` on to the supervisor of one that is there and is the peer's to ask
 * about, with an end of a new socket pair where the action takes a channel. 0 with the supervisor's
 * socket and the other end (-1: none), or a code.
 */
_must_check_ int supervisors_ask(const struct monitor *m, int *ret_socket, int *ret_channel,
                                 struct yett_error *error);

/* Has the plan of `m->ask` carried out by the supervisor of the sandbox that it names; as
 * supervisors_begin(). */
_must_check_ int supervisors_mount(struct monitor *m, int *ret_socket, struct yett_error *error);

/* One has gone: what it has left, if it was killed, is swept, by a process that supervisors_reap()
 * sees to. Its pid; -1. */
pid_t supervisors_sweep(struct monitor *m);

void supervisors_reap(struct monitor *m);

/* Ends those that are ready again and wait for a sandbox to make; waits so long for each that may
 * still become so. */
void supervisors_end_spares(struct monitor *m, int timeout_ms);

/* Waits for those whose sandboxes do not outlast us. The connection is shut down, and the decider
 * gone, by which they know. */
void supervisors_end(struct monitor *m);
