/* SPDX-License-Identifier: Apache-2.0 */
/* See place.h. */
#include "helper/privilege/place.h"
#include "base/kernel.h"
#include "helper/privilege/privilege.h"

/*
 * Opens a namespace of process 1. Returns -1 if it is our own, or if it cannot be opened because
 * even root is confined here.
 */
static int open_other(const char *name)
{
	struct stat own, other;
	char path[32];
	_cleanup_fd_ int fd = -1;

	FORMAT(path, "/proc/1/ns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	FORMAT(path, "/proc/self/ns/%s", name);
	if (fd < 0 || fstat(fd, &other) < 0 || stat(path, &own) < 0)
		return -1;
	return own.st_dev == other.st_dev && own.st_ino == other.st_ino ? -1 : steal_fd(&fd);
}

void place_open(struct place *place)
{
	place->mount_ns = open_other("mnt");
	place->network_ns = open_other("net");
	place->own_mount_ns =
		place->mount_ns < 0 ? -1 : open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC);
}

int place_enter(int fd, int type)
{
	return fd >= 0 && setns(fd, type) < 0 ? -errno : 0;
}

pid_t place_fork(const struct place *place, int *ret_socket)
{
	sigset_t none;
	int pair[2], r = fd_pair(pair);
	pid_t pid;

	if (r < 0)
		return r;
	pid = kernel_clone(place->cgroup >= 0 ? CLONE_INTO_CGROUP : 0, SIGCHLD, place->cgroup,
	                   NULL);
	if (pid == 0 && (place->mount_ns >= 0 || place->network_ns >= 0) &&
	    (privilege_raise() < 0 || place_enter(place->network_ns, CLONE_NEWNET) < 0 ||
	     place_enter(place->mount_ns, CLONE_NEWNS) < 0))
		_exit(1);
	if (pid == 0) {
		(void)sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
	}
	(void)close(pair[pid == 0 ? 0 : 1]);
	*ret_socket = pid < 0 ? fd_close(pair[0]) : pair[pid == 0 ? 1 : 0];
	return pid;
}
