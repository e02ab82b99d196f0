/*
 * The monitor: one connection, from hello to end of file.
 *
 * Root with an empty effective set (PRIVILEGE_MONITOR); verifies, authorizes and plans, and leaves what takes privilege to
 * supervisors. Parses nothing of a client's.
 */
#pragma once

#include "helper/monitor/decoder.h"
#include "helper/monitor/reader.h"
#include "helper/plan/peer.h"
#include "helper/privilege/place.h"
#include "helper/supervisor/supervisor.h"

struct decision;
struct means;

/* What a monitor can have ready before there is a connection. */
struct monitor {
	struct setup_host *host; /* NULL: nothing can be built, for the reason in `no_host`; only plans are made */
	struct yett_error no_host;
	/* Fits a plan to what a helper without root can give, or refuses it: means_fit(). NULL: root's can give everything */
	int (*fit)(const struct means *means, const struct decision *decision, struct plan *plan, struct yett_error *error);
	const struct means *means;
	const struct policy *policy;
	struct decoder decoder;
	struct reader reader;
	const struct peer *caller; /* whom it serves, where the socket cannot tell: set-user-id, or without root. NULL: the socket's peer */
	struct place lasting;      /* where supervisors are born whose sandboxes are to outlast us */
	int listener; /* asks for prepared supervisors here, and hears that it should give way; -1: there is none, and the policy is the
	                 connection's */
	const _Atomic uint64_t *generation; /* of the policy in force: memory of the listener's, which each monitor maps */
	bool *is_proven;                    /* likewise: becomes true when something was granted. NULL: there is no listener */
};

/* Starts yett-decoder and yett-reader, which lie in `libexec`. 0 or -errno. */
_must_check_ int monitor_prepare(struct monitor *monitor, const char *libexec);

/* Serves the connected socket (consumed) until its end. 0, or -errno when it could not be served at all. */
_must_check_ int monitor_serve(struct monitor *monitor, int socket);

/* In place of serving: tells who waits for a hello why there will be none; `r` as returned with the error. */
void monitor_report(int socket, int r, struct yett_error *error);

void monitor_free(struct monitor *monitor);

/* Monitor → listener: a prepared supervisor for this user, please. Answered with one byte, and its socket if there is one. */
struct monitor_wish {
	uid_t uid;
	gid_t gid;
	uint32_t profile; /* of the sandbox that is asked for: one that is ready for it is preferred */
};
