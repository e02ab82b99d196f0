/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The namespaces and cgroup in which monitors and supervisors of a service start. They are not
 * those of the listener.
 *
 * The service manager confines the listener to its own mount and network namespaces and cgroup. The
 * processes that it forks must be in the host's namespaces, where a client's directories and
 * namespaces can be checked and cloned, and in the cgroup PARENT/helpers, so that the service can
 * be restarted or killed while sandboxes live. Runs as root. Entering a namespace takes
 * CAP_SYS_ADMIN and CAP_SYS_CHROOT, and opening that of process 1 takes CAP_SYS_PTRACE.
 */
#pragma once

#include "base/fd.h"

#include <sys/types.h>

/* Descriptors; -1: those of the caller. */
struct place {
	int cgroup;
	int mount_ns, network_ns; /* of process 1; -1 where they are the caller's */
	int own_mount_ns;         /* to return to; -1 without mount_ns */
};

#define PLACE_HERE ((struct place){-1, -1, -1, -1})

/* Opens the namespaces. The caller sets `cgroup`, which `place` then owns. */
void place_open(struct place *place);

/*
 * Moves the calling process, which must be single-threaded, into one of these namespaces;
 * own_mount_ns is the way back. Does nothing for -1. Returns 0 or -errno. setns(2)
 */
_must_check_ int place_enter(int fd, int type);

/*
 * Like fork(2), but the child is in the place, blocks no signal, and has one end of a socket pair
 * in `ret_socket`; the parent has the other end there. Returns 0 in the child, the pid in the
 * parent, or -errno. A child that cannot enter the namespaces exits.
 */
_must_check_ pid_t place_fork(const struct place *place, int *ret_socket);
