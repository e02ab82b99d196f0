/* SPDX-License-Identifier: Apache-2.0 */
/* See peer.h. */
#include "helper/plan/peer.h"
#include "base/kernel.h"
#include "helper/privilege/privilege.h"

#include <sys/pidfd.h>
#include <sys/socket.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* asm-generic/socket.h; Linux 6.5 */
#endif

/*
 * Returns true if the process has no_new_privs, or if its status cannot be read. A process without
 * privilege gets a seccomp filter or a Landlock domain only with no_new_privs, and /proc shows no
 * other sign of a Landlock domain. A domain does not restrict O_PATH descriptors, so a client in a
 * domain could send us descriptors of files that the domain lets it neither read nor write.
 */
static bool has_no_new_privs(int proc)
{
	char text[4096];

	return kernel_read_file(proc, "status", text, sizeof text) < 0 ||
	       !strstr(text, "\nNoNewPrivs:\t0");
}

bool peer_is_confined(pid_t pid)
{
	static const char *const places[] = {"ns/user", "ns/mnt", "ns/pid", "ns/net", "root"};
	char path[32];
	_cleanup_fd_ int proc = -1, self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statx ours, theirs;

	FORMAT(path, "/proc/%d", pid);
	proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0 || self < 0)
		return true;
	/*
	 * Compare the mount ids, too: the root directory may be the same one on another mount,
	 * which may be read-only or may hide other mounts.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (statx(self, places[i], 0, STATX_INO | STATX_MNT_ID, &ours) < 0 ||
		    statx(proc, places[i], 0, STATX_INO | STATX_MNT_ID, &theirs) < 0 ||
		    ours.stx_ino != theirs.stx_ino || ours.stx_mnt_id != theirs.stx_mnt_id)
			return true;
	return has_no_new_privs(proc);
}

/*
 * Before Linux 6.5 the socket has no pidfd of its peer. If the peer has ended and its pid was
 * reused before pidfd_open(2), the result is another process: SECURITY.md describes this.
 */
int peer_open_process(int socket, pid_t pid)
{
	int pidfd = -1;
	socklen_t size = sizeof pidfd;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) < 0 && errno == ENOPROTOOPT)
		pidfd = pidfd_open(pid, 0);
	return pidfd < 0 ? -errno : pidfd;
}

int peer_read(int socket, struct peer *ret_peer, struct yett_error *error)
{
	struct ucred credentials;
	socklen_t size = sizeof credentials;

	*ret_peer = (struct peer){0};
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return -errno;
	ret_peer->pid = credentials.pid;
	ret_peer->uid = credentials.uid;
	ret_peer->gid = credentials.gid;
	size = sizeof ret_peer->groups;
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, ret_peer->groups, &size) < 0) {
		if (errno == ERANGE)
			return error_set(error, YETT_E_UNSUPPORTED, 0,
			                 "a user with more than %d groups is not served",
			                 PLAN_GROUPS_MAX);
		return -errno;
	}
	ret_peer->groups_count = size / sizeof ret_peer->groups[0];
	ret_peer->confined = true; /* until peer_examine() has checked */
	return 0;
}

/*
 * A pid is valid only while its process lives. So check last that the process still lives, and take
 * a peer that has ended for confined.
 */
int peer_examine(int pidfd, struct peer *peer)
{
	int r = privilege_raise(); /* reading another user's /proc/PID/ns takes CAP_SYS_PTRACE */

	if (r < 0)
		return r;
	peer->confined = peer_is_confined(peer->pid) || fd_poll(pidfd, POLLIN, 0) != 0;
	return privilege_lower();
}
