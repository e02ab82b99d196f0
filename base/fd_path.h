/*
 * Where the kernel has an open file: proc_pid_fd(5). No privilege; for who shows a path, or
 * compares one that a user gave.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/* 0 or -errno; -EINVAL where the file has no absolute path, and `path` is then what the kernel says
 * instead, or empty. */
static inline int fd_path(int fd, char path[static PATH_MAX])
{
	char link[sizeof "/proc/self/fd/2147483647"];
	ssize_t n;
	int r;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlinkat(
		AT_FDCWD, link, path,
		PATH_MAX - 1); /* the one of the two calls that the filter of yett-apply allows */
	r = n < 0 ? -errno : 0;
	path[n < 0 ? 0 : n] = '\0';
	return r < 0 || path[0] == '/' ? r : -EINVAL;
}
