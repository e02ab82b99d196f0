/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that the C library does not wrap, and small helpers around others.
 *
 * Used by the processes that make namespaces and mounts (root's and yett-init) and by those that
 * supervise processes. Each function acts with the privilege of its caller.
 */
#pragma once

#include "base/fd.h"

#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/types.h>

#ifndef MOVE_MOUNT_F_EMPTY_PATH /* musl does not wrap the mount system calls either */
#include "base/kernel_mounts.h"
#endif

/* fork(2) with clone3(2) flags. Returns 0 in the child, the pid in the parent, or -errno. */
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

/*
 * The kernel kills this process when its parent dies. A change of ids clears the setting, and a
 * parent that is dead already does not count: PR_SET_PDEATHSIG(2const)
 */
static inline void kernel_die_with_parent(void)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
}

static inline int kernel_pidfd_open(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

/*
 * Waits at most `timeout_ms` for a child that is not reaped yet to end. Returns whether it ended;
 * also true if no pidfd can be opened. Does not reap the child. pidfd_open(2)
 */
_must_check_ bool kernel_wait_end(pid_t pid, int timeout_ms);

/*
 * Makes a detached mount of a new file system of type `type`. `options` (may be NULL) are pairs of
 * key and value, ended by a NULL key; the value NULL makes the key a flag. `label`, if not empty,
 * is the SELinux label of all its files (mount option "context"). Returns a descriptor or -errno.
 */
int kernel_mount_new(const char *type, const char *const *options, const char *label,
                     unsigned mount_attributes);

/* Writes `text` to the existing file `name` below `dir` in one write(2). Returns 0 or -errno. */
int kernel_write_file(int dir, const char *name, const char *text);

/*
 * Reads at most size - 1 bytes of `name` below `dir` in one read(2), and appends a NUL. Returns the
 * number of bytes read, or -errno.
 */
_must_check_ ssize_t kernel_read_file(int dir, const char *name, char *buffer, size_t size);

/*
 * Writes the maps of the user namespace of the process `pid`, which must have none yet, and opens
 * that namespace. The maps have the format of user_namespaces(7). `proc` is the root of a proc(5)
 * mount in which the process is visible as `pid`. Returns a descriptor or -errno.
 */
_must_check_ int kernel_open_userns_of(int proc, pid_t pid, const char *uid_map,
                                       const char *gid_map);

/*
 * As kernel_open_userns_of() for a new user namespace, a child of the caller's. A temporary child
 * process creates the namespace, runs `inside(proc)` there, unless `inside` is NULL, once the maps
 * are written, and exits before this function returns. Returns a descriptor, -EIO if `inside` fails
 * (returns a negative number) or the child dies, or -errno.
 */
_must_check_ int kernel_open_userns(int proc, const char *uid_map, const char *gid_map,
                                    int (*inside)(int proc));
