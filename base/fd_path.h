/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The path of an open file, as /proc/self/fd shows it: proc_pid_fd(5). Needs no privilege. For
 * programs that show a path, or compare it with one that a user gave.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

/*
 * Returns 0 or -errno. -EINVAL: the file has no absolute path, and `path` then holds the text that
 * the kernel shows instead, such as "pipe:[1234]". After any other error `path` is empty.
 */
static inline int fd_path(int fd, char path[static PATH_MAX])
{
	char link[sizeof "/proc/self/fd/2147483647"];
	ssize_t n;
	int r;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	/* Not readlink(2): the system call filter of yett-apply allows only readlinkat(2). */
	n = readlinkat(AT_FDCWD, link, path, PATH_MAX - 1);
	r = n < 0 ? -errno : 0;
	path[n < 0 ? 0 : n] = '\0';
	return r < 0 || path[0] == '/' ? r : -EINVAL;
}
