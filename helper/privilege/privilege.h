/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities of each role of yett-helper, in one table, and how a process takes on a role.
 *
 * Linked into yett-helper, which is started as root, and into yett-rootless. The permitted set of a
 * role bounds what its children can have. Its effective set is what the role uses itself.
 * tests/system reads /proc and compares it with this table. capabilities(7).
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

enum privilege_role {
	/* Accepts and forks. Nothing is effective. Forked processes start with the same sets. */
	PRIVILEGE_LISTENER,
	PRIVILEGE_MONITOR, /* Serves one connection. Nothing is effective. */
	/*
	 * A supervisor until it calls privilege_narrow(), and its cgroup forker. Also a listener or
	 * monitor while it starts, the child that builds a template, and the child that sweeps.
	 */
	PRIVILEGE_BUILD,
};

/*
 * For a supervisor whose sandbox runs: leaves only CAP_KILL and CAP_DAC_OVERRIDE effective, to kill
 * processes of another id and to remove cgroups of another owner. Returns 0 or -errno.
 */
_must_check_ int privilege_narrow(void);

/*
 * Takes on the capability sets and the bounding set of the role. Never regains what an earlier role
 * of the process gave up. Returns 0 or -errno.
 */
_must_check_ int privilege_take(enum privilege_role role);

/*
 * Raise the effective set of a listener or monitor to its permitted set, and empty it again: for
 * the few calls that need it, each of which says why. Return 0 or -errno.
 */
_must_check_ int privilege_raise(void);
_must_check_ int privilege_lower(void);

/*
 * Calls frame_send() with MSG_DONTWAIT and raised privilege. The kernel counts descriptors in
 * flight by the uid of the sender, which all monitors and the listener share, and limits them to
 * RLIMIT_NOFILE: a receiver that does not read could use up that limit for everybody. CAP_SYS_ADMIN
 * lifts the limit (unix(7), ETOOMANYREFS). That is safe because we send only descriptors of our
 * own. Returns the result of frame_send(), or -EPERM when the privilege cannot be lowered again.
 */
_must_check_ int privilege_send(int socket, const void *bytes, size_t length, const int *fds,
                                size_t fd_count);

/*
 * Returns whether this process runs as root with the capabilities that building needs, in a user
 * namespace that maps `id`; that of a container may not. If not, `ret_missing` names the first
 * thing that is missing: "root", a capability as libcap-ng names it, or PRIVILEGE_IDS.
 */
#define PRIVILEGE_IDS "private user ids"
bool privilege_can_build(uint32_t id, const char **ret_missing);
