/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interfaces between the files of helper/setup/ for one set-up. Private to that folder. Same
 * privilege as setup.h.
 */
#pragma once

#include "base/kernel.h"
#include "base/reached.h"
#include "helper/setup/setup.h"
#include "protocol/frame.h"

/*
 * Anonymous shared memory: written by children that still run our program, read by the supervisor.
 * A child loses the mapping when it executes another program.
 */
struct setup_shared {
	struct yett_error error; /* set by the child whose step failed */
	int result;              /* 0, -errno or a positive code; -EINPROGRESS until known */
	pid_t init_pid;
};

/*
 * Roles of a child that is born in the sandbox's cgroups: the set-up child, the proxy, the
 * connector, the mount child or the port listener.
 */
enum fork_kind {
	FORK_SETUP_CHILD, /* identity_leave() */
	FORK_PROXY,       /* egress_become() */
	FORK_CONNECTOR,
	FORK_MOUNT_CHILD, /* mount_become() */
	FORK_PORT_LISTENER,
};

/*
 * cgroup_forker.c: forks a child that is born in the sandbox's cgroups. Starts the cgroup forker
 * first where cgroup v1 needs one. `fds` are borrowed. Returns the child's pid or -errno. If the
 * child fails later, the shared error says why.
 */
_must_check_ pid_t forker_fork(struct setup *setup, enum fork_kind child, const int *fds,
                               size_t count);

/*
 * cgroup_forker.c: starts init in new namespaces, for the template of setup->profile. Starts the
 * cgroup forker first where cgroup v1 needs one. Stores the supervisor's ends of init's sockets in
 * `setup`. Returns 0 or -errno, with the failed step in the shared error.
 */
_must_check_ int forker_make_init(struct setup *setup);
void forker_end(struct setup *setup);

/* Kills and reaps a child; does nothing for 0 and -1. */
void forker_end_child(pid_t pid);

/*
 * Does the same for a child that something of a client's may delay. Waits at most 2 s; returns
 * whether the child has ended.
 */
_must_check_ bool forker_end_child_soon(pid_t pid);

/* Descriptors that init is started with, by enum init_fd from INIT_FD_CONTROL on; -1: left out. */
struct identity_fds {
	int fds[INIT_FD_END - INIT_FD_CONTROL];
};

/*
 * identity.c, for the process that becomes init.
 *
 * identity_leave() enters the profile's template, makes the sandbox's user namespace, has the
 * supervisor (over `control`) write its id map, and takes init's id in it. identity_prepare() is
 * its first part and identity_take() its last; a process that enters an existing sandbox calls
 * these two alone. identity_become_init() executes yett-init with the argument `what`. All return 0
 * or -errno; identity_become_init() returns only on failure.
 */
_must_check_ int identity_leave(const struct setup *setup, int control, struct identity_fds *fds);
_must_check_ int identity_prepare(const struct setup *setup);
_must_check_ int identity_take(const struct setup *setup);
_must_check_ int identity_become_init(const struct setup *setup, const char *what,
                                      struct identity_fds *fds);

/*
 * mount.c: changes to an existing sandbox.
 *
 * mount_become() is what the child does: a MOUNTER enters all namespaces of the sandbox, a CATCHER
 * only its network, IPC, UTS and cgroup namespaces, and then becomes yett-init with one order.
 * `fds` are, by enum mount_fd: the order's socket; the socket for locks of stores, or for sockets
 * to the proxy; init's pidfd; and the sandbox's user namespace, -1 without root. Returns 0 when the
 * order is done, or -errno.
 *
 * mount_hear() waits for the report on the order's socket. The sender may be compromised: of its
 * report only a well-formed error text is believed, and a packet with descriptors is never
 * received. Returns 0, or -errno with the shared error.
 */
enum mount_fd { MOUNT_CONTROL, MOUNT_KEEP, MOUNT_INIT, MOUNT_USER_NS, MOUNT_FDS };
_must_check_ int mount_become(const struct setup *setup, enum fork_kind child, const int *fds);
_must_check_ int mount_hear(const struct setup *setup, int control, int wait_ms);

/*
 * Executes one of the programs, with an empty environment. The program gets `fds` (-1: none) from
 * INIT_FD_CONTROL on, and /dev/null below that. init also gets the system call filter for building.
 * Returns -errno.
 */
_must_check_ int identity_become(const struct setup *setup, enum setup_program which,
                                 char *const argv[], int *fds, int count);

/*
 * setup.c: sends the order to build the plan over `control`, to init or to a mount child, and
 * starts the mount-clone child for its shares. From here on the client's mounts end with init, or
 * in a process that nobody waits for. Returns 0 or -errno.
 */
_must_check_ int setup_send_order(struct setup *setup, const struct setup_order *order,
                                  enum init_order_kind kind, int control);

/*
 * egress.c: what a child does to become the proxy or the connector. Returns only on failure, with
 * -errno. `fds` of the proxy: the connector, init's pidfd, and the socket that takes the BPF link,
 * or that the port listener sends from. `fds` of the connector: the proxy, the supervisor and the
 * plan.
 */
_must_check_ int egress_become(const struct setup *setup, enum fork_kind child, const int *fds);

/*
 * share.c: starts the mount-clone child. The child receives the client's packet on `connection`,
 * checks what the client wants to share, and sends clones of it to init over the socket `to`. No
 * other process of root's ever has a descriptor of the client's open. Returns 0 or -errno.
 */
_must_check_ int share_start(struct setup *setup, const struct plan *plan, int connection, int to);

/*
 * share.c: opens the user namespaces that map the ids of clones, unless they are open. They may be
 * made ahead of a request, for another plan with the same base. Making them ahead is safe: besides
 * the base, the namespaces depend only on the capabilities, and those are the profile's
 * (admit_check()). Returns 0 or -errno.
 */
_must_check_ int share_open_maps(struct setup *setup, const struct plan *plan);
/* Returns whether the plan has a step whose clone `map` is for. */
bool share_needs_map(const struct plan *plan, enum setup_map map);
void share_close_maps(struct setup *setup);

/*
 * Protected paths: the directories in which a user's programs and the display server keep their
 * sockets, and the helper's runtime directory. A process that connects to such a socket acts as the
 * user. So neither these directories, nor anything inside or above them, may be shared.
 */
#define SHARE_PROTECTED 3
struct share_protected {
	/*
	 * the protected directories; then, if has_clear, a directory that is in none of them:
	 * shares often have the same parent, so this ends the next check early
	 */
	struct stat at[SHARE_PROTECTED + 1];
	/* the protected directories and all directories above them; when full, more may exist */
	struct stat above[64];
	size_t count, above_count;
	bool has_clear;
};
void share_find_protected(const struct policy *policy, struct share_protected *ret_paths);

/*
 * share.c: checks whether the policy allows to share `fd` for this step of the plan. Returns 0,
 * -errno or a positive code.
 */
_must_check_ int share_check(struct share_protected *protected_paths, const struct plan *plan,
                             int fd, const struct plan_step *step, struct stat *ret_stat,
                             struct yett_error *error);
