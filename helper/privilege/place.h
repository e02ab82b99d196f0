/*
 * Where monitors and supervisors of a service are born: not where the listener lives.
 *
 * The service manager confines the listener (a mount and a network namespace of its own, its own
 * control group). What it forks belongs elsewhere: in the host's namespaces, where a client's
 * directories and namespaces can be judged and cloned, and in the group PARENT/helpers, so that the
 * service can be restarted or killed under living sandboxes. As root; entering a namespace takes
 * CAP_SYS_ADMIN and CAP_SYS_CHROOT, opening that of process 1 CAP_SYS_PTRACE.
 */
#pragma once

#include "base/fd.h"

#include <sys/types.h>

/* Descriptors; -1: where the caller is. */
struct place {
	int cgroup;
	int mount_ns, network_ns; /* of process 1, where they are not the caller's */
	int own_mount_ns;         /* the way back */
};

#define PLACE_HERE ((struct place){-1, -1, -1, -1})

/* Opens the namespaces; the group is the caller's to set, and `place` owns it. */
void place_open(struct place *place);

/* Takes the calling process, which must be single-threaded, to one of these namespaces: its own one
 * is the way back. 0 or -errno. setns(2)
 */
_must_check_ int place_enter(int fd, int type);

/* fork(2) into the place. 0 in the child, the pid, or -errno. A child that cannot get there exits.
 */
_must_check_ pid_t place_fork(const struct place *place);
