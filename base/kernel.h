/*
 * System calls that the C library does not wrap, and small idioms around those it does.
 *
 * Used by who makes namespaces and mounts, root or init, and by the roles that supervise processes;
 * each function acts with the privilege of its caller.
 */
#pragma once

#include "base/fd.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/types.h>

#ifndef MOVE_MOUNT_F_EMPTY_PATH /* musl, which wraps none of these either */
#include "base/kernel_mounts.h"
#endif

/* fork(2) with clone3(2) flags; 0 in the child, the pid in the parent, or -errno. */
static inline pid_t kernel_clone(uint64_t flags, int exit_signal, int cgroup_fd, int *pidfd)
{
	struct clone_args args = {
		.flags = flags,
		.exit_signal = (uint64_t)exit_signal,
		.cgroup = cgroup_fd >= 0 ? (uint64_t)cgroup_fd : 0,
		.pidfd = (uint64_t)(uintptr_t)pidfd,
	};
	long pid = syscall(SYS_clone3, &args, sizeof args);

	return pid < 0 ? -errno : (pid_t)pid;
}

static inline int kernel_pidfd_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

/* Whether a child that is not reaped has ended within so long; also true where there is no
 * descriptor to wait with. pidfd_open(2) */
_must_check_ bool kernel_wait_end(pid_t pid, int timeout_ms);

/*
 * A detached mount of a file system of type `type`; options are "key", "value" pairs ended by NULL.
 * `label`, if not empty, is what SELinux knows all its files by. A fd or -errno.
 */
int kernel_mount_new(const char *type, const char *const *options, const char *label,
                     unsigned mount_attributes);

/* Writes `text` to `name` below `dir` in one write(2). 0 or -errno. */
int kernel_write_file(int dir, const char *name, const char *text);

/* Reads at most size - 1 bytes of `name` below `dir` and ends them with NUL. Their number or
 * -errno. */
_must_check_ ssize_t kernel_read_file(int dir, const char *name, char *buffer, size_t size);

/*
 * Writes the maps (texts as user_namespaces(7) has them) of the user namespace that `pid`, a
 * process without any yet, is in, and opens that. `proc`: a directory of proc(5) in which the
 * process is seen. A descriptor or -errno.
 */
_must_check_ int kernel_open_userns_of(int proc, pid_t pid, const char *uid_map,
                                       const char *gid_map);

/*
 * The same of a new user namespace below the caller's. It is made with a child that ends before the
 * return, and `inside`, if not NULL, runs there as the first thing in it. A descriptor; -EIO where
 * `inside` fails; or -errno.
 */
_must_check_ int kernel_open_userns(int proc, const char *uid_map, const char *gid_map,
                                    int (*inside)(int proc));
