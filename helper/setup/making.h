/*
 * One set-up in the making, as the files of setup/ see it. Private to setup/.
 */
#pragma once

#include "helper/setup/setup.h"

/* Written by processes of ours that still run our program, read by the supervisor; anonymous, and
 * gone with them. */
struct setup_shared {
	struct yett_error error; /* filled by the process whose step failed */
	int result;              /* 0, -errno or a code; -EINPROGRESS until known */
	pid_t init_pid;
};

/* What a process becomes that is born in the sandbox's groups, and with what. */
enum builder_child {
	BUILDER_LEAVER, /* identity_leave() */
	BUILDER_FRONT,  /* egress_become() */
	BUILDER_DIALER,
	BUILDER_MOUNTER, /* mount_become() */
	BUILDER_CATCHER,
};

/*
 * builder.c: forks a child of ours that is born in the sandbox's groups; starts the builder if need
 * be. `fds` are borrowed. Its pid or -errno. When it fails later, the shared error says why.
 */
_must_check_ pid_t builder_fork(struct setup *setup, enum builder_child child, const int *fds,
                                size_t count);

/*
 * builder.c: starts init in new namespaces for the template of `profile`, with the supervisor's
 * ends of its sockets in `setup`; starts the builder if need be. 0 or -errno, with the step in the
 * shared error.
 */
_must_check_ int builder_make_init(struct setup *setup);
void builder_end(struct setup *setup);

/* Kills and reaps a child of ours; takes 0 and -1. */
void builder_end_child(pid_t pid);

/* The same of one that may be held up by what a client made: whether it has ended within a moment.
 */
_must_check_ bool builder_end_child_soon(pid_t pid);

/* What init is started with besides: descriptors at the numbers of enum init_fd; -1: left out. */
struct identity_fds {
	int fds[INIT_FD_END - INIT_FD_CONTROL];
};

/*
 * identity.c, for the process that becomes init. To where the sandbox is built: the profile's
 * template, a user namespace of its own, of which the supervisor is told over `control` and which
 * it gives its map, and the id that init has in it; then, born in the other namespaces, init, which
 * does as the word `what` says. 0 or -errno. identity_prepare() and identity_take() are its
 * beginning and its end, also for who enters the namespaces of a sandbox that is there.
 */
_must_check_ int identity_leave(const struct setup *setup, int control, struct identity_fds *fds);
_must_check_ int identity_prepare(const struct setup *setup);
_must_check_ int identity_take(const struct setup *setup);
_must_check_ int identity_become_init(const struct setup *setup, const char *what,
                                      struct identity_fds *fds);

/*
 * mount.c: what a child does to carry out an order in a sandbox that is there: a MOUNTER in all of
 * its namespaces, a CATCHER (PORTS) in those of its network, of IPC, and what goes with that. 0
 * when that is over, or -errno. `fds`: the order's socket; where locks of stores go, or sockets for
 * the front; init's pidfd; and the sandbox's user namespace, or without root -1. Then what it says
 * over the order's socket of its end, of which nothing is believed but that it is text. It sends no
 * descriptors: a captured one's are not received. 0 or -errno, with the shared error.
 */
enum mount_fd { MOUNT_CONTROL, MOUNT_KEEP, MOUNT_INIT, MOUNT_USER_NS, MOUNT_FDS };
_must_check_ int mount_become(const struct setup *setup, enum builder_child child, const int *fds);
_must_check_ int mount_hear(const struct setup *setup, int control, int wait_ms);

/*
 * Executes one of the programs, without an environment. It has `fds` (-1: none) from
 * INIT_FD_CONTROL on, and /dev/null below that; init also has the filter that it builds under.
 * -errno.
 */
_must_check_ int identity_become(const struct setup *setup, enum setup_program which,
                                 char *const argv[], int *fds, int count);

/*
 * setup.c: tells init, or who mounts, over `control` to build the plan, and has what it shares
 * cloned for that. What is the client's then goes with init, or to a process that nobody waits for.
 * 0 or -errno.
 */
_must_check_ int setup_send_order(struct setup *setup, const struct setup_order *order,
                                  enum init_order_kind kind, int control);

/*
 * egress.c: what a child does to become a front or a dialer. -errno, or it does not return. `fds`:
 * of a front the dialer, init's pidfd, and where the link goes that catches connections, or the
 * catcher; of a dialer the front, the supervisor and the plan.
 */
_must_check_ int egress_become(const struct setup *setup, enum builder_child child, const int *fds);

/*
 * share.c: the process that looks at what a client wants to share, takes it out of the client's
 * packet on `connection`, and sends clones of it to init over the socket `to`. Nobody else ever has
 * a descriptor of the client's open. 0 or -errno.
 */
_must_check_ int share_start(struct setup *setup, const struct plan *plan, int connection, int to);

/*
 * share.c: the user namespaces that clones are mapped by, as far as there are none yet. They may be
 * made ahead, with another plan of the same base: capabilities, on which they depend, too, are
 * those of the profile (admit_check()). 0 or -errno.
 */
_must_check_ int share_open_maps(struct setup *setup, const struct plan *plan);
bool share_needs_map(const struct plan *plan,
                     enum setup_map map); /* something of the plan is to be cloned, and mapped so */
void share_close_maps(struct setup *setup);

/*
 * Where a user's programs keep the sockets by which they are spoken to, and the display server its
 * own: who can connect there is the user to them. And the helper's own. Neither these nor what
 * holds them is shared.
 */
#define SHARE_DOORS 3
struct share_doors {
	struct stat at[SHARE_DOORS + 1]; /* then, if there is one, a directory that lies in none:
	                                    most shares lie side by side */
	struct stat above[64]; /* they, and all directories above them; full: and others */
	size_t count, above_count;
	bool has_clear;
};
void share_find_doors(const struct policy *policy, struct share_doors *ret_doors);

/* share.c: whether the policy allows a share of `fd`, for this step of the plan; 0, -errno or a
 * code. */
_must_check_ int share_check(struct share_doors *doors, const struct plan *plan, int fd,
                             const struct plan_step *step, struct stat *ret_stat,
                             struct yett_error *error);
