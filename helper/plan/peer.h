/*
 * Who is at the other end of a connection: from the kernel, never from a message.
 *
 * In the monitor, with its privilege raised only to look at the namespaces of the peer. unix(7),
 * namespaces(7).
 */
#pragma once

#include "helper/plan/plan.h"

#define PEER_NAME_MAX 64
#define PEER_HOME_MAX 4095

/* What the host's accounts say of the peer, as yett-reader tells it: the user's word. Each may be
 * empty. */
struct peer_names {
	char user[PEER_NAME_MAX + 1], group[PEER_NAME_MAX + 1];
	char home[PEER_HOME_MAX + 1], shell[256];
	char program[PLAN_PROGRAM_SIZE]; /* that the process which connected executes */
};

/* From SO_PEERCRED and SO_PEERGROUPS at accept, but for the names. */
struct peer {
	pid_t pid; /* for display only */
	uid_t uid;
	gid_t gid;
	gid_t groups[PLAN_GROUPS_MAX];
	size_t groups_count;
	uint64_t now; /* when it asks, in seconds since 1970: what has expired by then is for nobody
	               */
	bool confined; /* in another user, mount, pid or network namespace than the helper */
	struct peer_names names;
};

/* Reads the credentials and groups of the connected socket. 0, -errno, or UNSUPPORTED. */
_must_check_ int peer_read(int socket, struct peer *ret_peer, struct yett_error *error);

/* A pidfd of the process that made the connection, or -errno when it is gone. */
_must_check_ int peer_open_process(int socket, pid_t pid);

/* Adds what takes longer, while the client prepares its request: whether the peer is confined. 0 or
 * -errno. */
_must_check_ int peer_examine(int pidfd, struct peer *peer);

/*
 * Whether a process is in another user, mount, pid or network namespace than this one, or has
 * no_new_privs. One whose namespaces cannot be read (CAP_SYS_PTRACE) is taken for confined.
 */
bool peer_is_confined(pid_t pid);
