/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor: serves one connection, from accept to end.
 *
 * Runs as root with an empty effective set (PRIVILEGE_MONITOR). It asks the kernel who the client
 * is, and carries out the acts that yett-decider requests. Each act is a row of one table in
 * monitor.c; any other request is refused. The monitor must never read anything that a client sent.
 */
#pragma once

#include "helper/monitor/decider.h"
#include "helper/privilege/program.h"

struct policy;

/* A supervisor or a sweep that must be reaped. */
struct monitor_child {
	pid_t pid;
	/* Its sandbox ends with the connection, whose end waits for the child's exit. */
	bool is_awaited;
};

struct monitor;

/*
 * How programs/rootless/ uses supervisors again. A listener does it for the monitors of root. All
 * others start a supervisor for a request, because most connections make only one sandbox.
 */
struct monitor_spares {
	/*
	 * Takes or starts a supervisor for the plan of `m->ask` that shall serve further sandboxes.
	 * Returns 0 with its socket, or -ENOENT: then the monitor starts one for this plan alone.
	 */
	int (*take)(struct monitor *m, int *ret_socket);
	/*
	 * Ends the idle ones. `is_last`: waits for those that are busy, whose sandboxes end with
	 * the connection.
	 */
	void (*end)(struct monitor *m, bool is_last);
};

struct monitor {
	/* Set by the process that starts the monitor, before there is a connection. */
	/*
	 * NULL: no sandbox can be built, for the reason in `no_host`; the decider only makes plans.
	 */
	struct setup_host *host;
	struct yett_error no_host;
	/* The resources of a helper without root; NULL: the helper has root's privilege. */
	const struct means *means;
	const struct policy *policy;
	/*
	 * The client, if the socket does not identify it: in a set-user-ID helper, or without root.
	 * NULL: the peer of the socket.
	 */
	const struct peer *caller;
	struct monitor_spares *spares; /* NULL: none */
	/* The place to fork supervisors into whose sandboxes may outlive the monitor. */
	struct place lasting;
	/*
	 * Socket to the listener, for requesting pre-started supervisors. It becomes readable when
	 * this connection should give way to others. -1: there is no listener, and the policy was
	 * loaded for this connection alone.
	 */
	int listener;
	/* Generation of the policy in force, in the listener's memory, which all monitors map. */
	const _Atomic uint64_t *generation;
	/*
	 * In the same memory: the monitor sets it when the client was granted something. NULL:
	 * there is no listener.
	 */
	bool *is_proven;

	/* Private to the monitor. */
	const char *libexec; /* directory of the programs */
	struct program decider;
	/* Reservation of the decider's uid; -1: the decider has the monitor's uid. */
	int decider_id;
	struct program reader; /* yett-reader; its socket is here until it becomes the peer */
	int named_reader;      /* socket of a yett-reader that became the peer, for the decider */
	/* The decider has the names, and the administrator enrolled the key: no more is asked. */
	bool is_reader_done;
	int socket; /* of the client */
	/*
	 * pidfd of the process that connected. When that process exits, the connection ends, even
	 * if another process inherited the client's socket.
	 */
	int process;
	struct peer peer;
	/* The same ids for audit records, with the key of the decider's last ACT_KEY. */
	struct plan_asker asker;
	/* Mapped memory, whose pages are freed when the connection is idle. */
	struct decider_ask *ask;
	/* memfd with the rules from ACT_RULES; -1: none. */
	int rules;
	/*
	 * Socket of the supervisor that takes the client's packet, until that supervisor has
	 * answered; -1: none.
	 */
	int taker;
	struct monitor_child *children;
	size_t children_count;
	/* Acts that the decider may still send for the request that was counted last. */
	unsigned acts_left;
	/* When the connection ended, in ms of CLOCK_MONOTONIC; 0: it has not. */
	uint64_t shut_ms;
	/* The decider goes on serving event streams after the end of the connection. */
	bool has_streams;
	/*
	 * The listener did not answer, or has another policy: every request is refused from now on.
	 */
	bool is_outdated;
	bool is_over;
};
#define MONITOR_NONE                                                                     \
	.decider = PROGRAM_NONE, .decider_id = -1, .reader = PROGRAM_NONE, .socket = -1, \
	.named_reader = -1, .process = -1, .rules = -1, .taker = -1, .lasting = PLACE_HERE

/*
 * A packet of the decider: the act and its data. admit_unpack() moves the parts of a plan to their
 * places.
 */
struct decider_ask {
	uint32_t act;  /* enum decider_act */
	size_t length; /* of the data that follow */
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

/* Starts yett-decider and yett-reader from the directory `libexec`. Returns 0 or -errno. */
_must_check_ int monitor_prepare(struct monitor *monitor, const char *libexec);

/*
 * Serves the connected socket (consumed) until its end. Returns 0, or -errno if the connection
 * could not be served at all.
 */
_must_check_ int monitor_serve(struct monitor *monitor, int socket);

/*
 * Instead of serving: sends a client that waits for a hello the reason why none will come. `r` and
 * `error` are what the failed function returned.
 */
void monitor_report(const char *libexec, int socket, int r, struct yett_error *error);

void monitor_free(struct monitor *monitor);

/*
 * Monitor → listener: requests a pre-started supervisor for this user. The listener answers with
 * one byte, and the supervisor's socket if there is one.
 */
struct monitor_need {
	uid_t uid;
	gid_t gid;
	/* Profile of the requested sandbox: a supervisor of this profile is preferred. */
	uint32_t profile;
};

/*
 * Whether the peer may see the record: an administrator sees all, others see sandboxes that they
 * could have requested themselves.
 */
bool monitor_may_see(const struct monitor *m, const struct record *record);

/* --- supervisors; supervisors.c --- */

/*
 * Checks that the policy of this connection is still in force, and that the listener still runs: no
 * request may be decided by a policy that was replaced. Called at every request. Returns 0 or
 * HELPER_UNAVAILABLE.
 */
_must_check_ int supervisors_check_policy(const struct monitor *m, struct yett_error *error);

/*
 * Sends the plan of `m->ask` to a supervisor. If the plan has shares, the supervisor receives the
 * client's packet itself. Returns 0 with the supervisor's socket, or a code.
 */
_must_check_ int supervisors_begin(struct monitor *m, int *ret_socket, struct yett_error *error);

/*
 * Sends the request of `m->ask` to the supervisor of an existing sandbox that the peer may see. If
 * the action takes a channel, one end of a new socket pair goes with the request. Returns 0 with
 * the supervisor's socket and the other end (-1: none), or a code.
 */
_must_check_ int supervisors_ask(const struct monitor *m, int *ret_socket, int *ret_channel,
                                 struct yett_error *error);

/*
 * Has the plan of `m->ask` carried out in the sandbox that it names, by that sandbox's supervisor.
 * Returns like supervisors_begin().
 */
_must_check_ int supervisors_mount(struct monitor *m, int *ret_socket, struct yett_error *error);

/*
 * A supervisor is gone: starts a process that removes what a killed one has left.
 * supervisors_reap() reaps that process. Returns its pid, or -1.
 */
pid_t supervisors_sweep(struct monitor *m);

void supervisors_reap(struct monitor *m);

/* Remembers a child for supervisors_reap(); see struct monitor_child. Ignores a `pid` <= 0. */
void supervisors_remember(struct monitor *m, pid_t pid, bool is_awaited);

/*
 * Whether the sandbox of the plan may outlive the connection. Its supervisor then serves no further
 * one.
 */
bool supervisors_are_lasting(const struct plan *plan);

/*
 * Waits for the supervisors whose sandboxes end with the connection. They notice its end because
 * the connection is shut down and the decider is gone.
 */
void supervisors_end(struct monitor *m);
