/*
 * What each role of yett-helper may do, in one table, and how it takes that on.
 *
 * Linked into yett-helper, started as root. A role's permitted set bounds what its children can be;
 * its effective set is what it does itself. tests/system reads /proc and compares with this table.
 * capabilities(7).
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

enum privilege_role {
	PRIVILEGE_LISTENER, /* accepts and forks: nothing effective. What it forks begins with its
	                       sets */
	PRIVILEGE_MONITOR,  /* decides: nothing effective */
	PRIVILEGE_BUILD,    /* a supervisor, which narrows what is effective when it has built; its
	                       builder, the template's child, the sweep */
};

/* Of a supervisor whose sandbox runs: what ends processes of another id and removes cgroups of
 * another owner is effective. 0 or -errno. */
_must_check_ int privilege_narrow(void);

/* Takes on the role's sets, and its bounding set. A role never regains what an earlier one gave up.
 * 0 or -errno. */
_must_check_ int privilege_take(enum privilege_role role);

/*
 * Raises the effective set of a listener or monitor to what its permitted set holds, or empties it
 * again: for the few calls that need it, each of which says why. 0 or -errno.
 */
_must_check_ int privilege_raise(void);
_must_check_ int privilege_lower(void);

/*
 * frame_send() without waiting, raised for that. Descriptors that were sent and not yet received
 * count for the uid of the sender, which all monitors and the listener share, against
 * RLIMIT_NOFILE: who does not read what it is sent would use that up for everybody. CAP_SYS_ADMIN
 * lifts the bound (unix(7), ETOOMANYREFS); safe because what is sent is our own. -EPERM when it
 * cannot be lowered again.
 */
_must_check_ int privilege_send(int socket, const void *bytes, size_t length, const int *fds,
                                size_t fd_count);

/*
 * Whether this process runs as root with the capabilities that building needs, in a user namespace
 * that has `id`, as that of a container need not; if not, `ret_missing` names what lacks first:
 * "root", a capability as libcap-ng names it, or PRIVILEGE_IDS.
 */
#define PRIVILEGE_IDS "private user ids"
bool privilege_can_build(uint32_t id, const char **ret_missing);
