/*
 * One set-up in the making, as the files of setup/ see it. Private to setup/.
 */
#pragma once

#include "helper/setup/setup.h"
#include "protocol/message_told.h"

#include <sys/stat.h>

/* Written by processes of ours that still run our program, read by the supervisor; anonymous, and gone with them. */
struct setup_shared {
	struct yett_error error; /* filled by the process whose step failed */
	int result;              /* 0, -errno or a code; -EINPROGRESS until known */
	pid_t init_pid;
};

/*
 * builder.c: starts init in new namespaces for the template of `profile`, with the supervisor's ends of its sockets in `setup`; starts
 * the builder if need be. 0 or -errno, with the step in the shared error.
 */
_must_check_ int builder_make_init(struct setup *setup);
void builder_end(struct setup *setup);

/* Kills and reaps a child of ours; takes 0 and -1. */
void builder_end_child(pid_t pid);

/* The same of one that may be held up by what a client made: whether it has ended within a moment. */
_must_check_ bool builder_end_child_soon(pid_t pid);

/* What init is started with besides: descriptors at the numbers of enum init_fd; -1: left out. */
struct identity_fds {
	int fds[INIT_FD_END - INIT_FD_CONTROL];
};

/*
 * identity.c, for the process that becomes init. To where the sandbox is built: the profile's template, a user namespace of its own, of
 * which the supervisor is told over `control` and which it gives its map, and the id that init has in it; then, born in the other
 * namespaces, init. 0 or -errno.
 */
_must_check_ int identity_leave(const struct setup *setup, int control, struct identity_fds *fds);
_must_check_ int identity_become_init(const struct setup *setup, struct identity_fds *fds);

/*
 * share.c: the process that looks at what a client wants to share, takes it out of the client's packet on `connection`, and sends clones
 * of it to init over the socket `to`. Nobody else ever has a descriptor of the client's open. 0 or -errno.
 */
_must_check_ int share_start(struct setup *setup, const struct plan *plan, int connection, int to);

/* share.c: whether the policy allows a share of `fd`; 0, -errno or a code. */
_must_check_ int share_check(const struct setup_host *host, const struct plan *plan, int fd, const struct plan_step *step,
                             struct stat *ret_stat, struct yett_error *error);
