/*
 * openat2(2) of paths that stay below a directory.
 */
#pragma once

#include <errno.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BENEATH_ATTEMPTS 1000

/*
 * A descriptor, or -errno. With RESOLVE_BENEATH or RESOLVE_IN_ROOT the kernel says EAGAIN where it
 * met ".." while something was renamed or mounted anywhere, as a host with sandboxes does all the
 * time: it is asked again, for as often as could be chance.
 */
static inline int beneath_open(int directory, const char *path, const struct open_how *how)
{
	long fd = -1;

	errno = EAGAIN;
	for (int i = 0; fd < 0 && errno == EAGAIN && i < BENEATH_ATTEMPTS; i++)
		fd = syscall(SYS_openat2, directory, path, how, sizeof *how);
	return fd < 0 ? -errno : (int)fd;
}
