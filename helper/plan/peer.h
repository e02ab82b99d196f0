/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process at the other end of a connection: as the kernel reports it, never from a message.
 *
 * Runs in the monitor, whose privilege is raised only to read the namespaces of the peer. unix(7),
 * namespaces(7).
 */
#pragma once

#include "helper/plan/plan.h"

#define PEER_NAME_MAX 64
#define PEER_HOME_MAX 4095

/*
 * The host account and the program of the peer, as yett-reader reports them. yett-reader runs as
 * the peer's user, so that user can forge them. Each may be empty.
 */
struct peer_names {
	char user[PEER_NAME_MAX + 1], group[PEER_NAME_MAX + 1];
	char home[PEER_HOME_MAX + 1], shell[256];
	char program[PLAN_PROGRAM_SIZE]; /* the program that the connected process executes */
};

/* The ids come from SO_PEERCRED and SO_PEERGROUPS, the names from yett-reader. */
struct peer {
	pid_t pid; /* for display only */
	uid_t uid;
	gid_t gid;
	gid_t groups[PLAN_GROUPS_MAX];
	size_t groups_count;
	/*
	 * Time of the request, in seconds since 1970: grants that have expired by then do not
	 * count.
	 */
	uint64_t now;
	/* See peer_is_confined(). */
	bool confined;
	struct peer_names names;
};

/*
 * Reads the credentials and groups of the connected socket. Returns 0, -errno, or
 * YETT_E_UNSUPPORTED for too many groups.
 */
_must_check_ int peer_read(int socket, struct peer *ret_peer, struct yett_error *error);

/* Returns a pidfd of the process that made the connection, or -errno when the process is gone. */
_must_check_ int peer_open_process(int socket, pid_t pid);

/*
 * Sets `confined`. This takes longer than peer_read(), and is done while the client prepares its
 * request. Returns 0 or -errno.
 */
_must_check_ int peer_examine(int pidfd, struct peer *peer);

/*
 * Returns whether a process is in another user, mount, pid or network namespace than this process,
 * has another root directory, or has no_new_privs. A process whose namespaces cannot be read
 * (CAP_SYS_PTRACE) is taken for confined.
 */
bool peer_is_confined(pid_t pid);
