/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openat2(2) for paths that must not leave a directory. Runs with the privilege of the caller.
 */
#pragma once

#include <errno.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BENEATH_ATTEMPTS 1000

/*
 * Returns a descriptor or -errno. With RESOLVE_BENEATH or RESOLVE_IN_ROOT, openat2(2) fails with
 * EAGAIN if the path contains ".." and any rename or mount happens on the host meanwhile. A host
 * with sandboxes mounts all the time, so the call is retried. BENEATH_ATTEMPTS failures in a row
 * are no coincidence: then the function returns -EAGAIN.
 */
static inline int beneath_open(int directory, const char *path, const struct open_how *how)
{
	long fd = -1;

	errno = EAGAIN;
	for (int i = 0; fd < 0 && errno == EAGAIN && i < BENEATH_ATTEMPTS; i++)
		fd = syscall(SYS_openat2, directory, path, how, sizeof *how);
	return fd < 0 ? -errno : (int)fd;
}
