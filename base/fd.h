/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Descriptors and memory that clean up after themselves.
 *
 * Every folder uses this header; it owns nothing and needs no privilege. A variable marked
 * `_cleanup_(x)` is released when it leaves its scope; steal_fd() and steal_ptr() hand it on.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define _cleanup_(f)   __attribute__((cleanup(f)))
#define _must_check_   __attribute__((warn_unused_result))
#define _unused_       __attribute__((unused))
#define _printf_(a, b) __attribute__((format(printf, a, b)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* snprintf(3) into an array of char. A text that does not fit is cut off. */
#define FORMAT(array, ...)                                                                  \
	({                                                                                  \
		_Static_assert(sizeof(array) != sizeof(char *), "an array, not a pointer"); \
		(void)snprintf(array, sizeof(array), __VA_ARGS__);                          \
	})

/*
 * Closes `fd` unless it is negative. Returns -1, so that `fd = fd_close(fd)` leaves no dangling
 * number. Preserves errno.
 */
static inline int fd_close(int fd)
{
	if (fd >= 0) {
		int saved = errno;

		(void)close(fd);
		errno = saved;
	}
	return -1;
}

static inline void fd_closep(int *fd)
{
	*fd = fd_close(*fd);
}

/* Takes the descriptor out of `*fd`, which no longer owns it. */
static inline int steal_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* poll(2) for one descriptor, which may be -1: then only the timeout ends the call. */
static inline int fd_poll(int fd, short events, int timeout_ms)
{
	struct pollfd wait = {.fd = fd, .events = events};

	return poll(&wait, 1, timeout_ms);
}

/*
 * Opens a directory for openat(2) and the like, not through a symbolic link in the last component.
 * Returns a descriptor, or -1 with errno set.
 */
static inline int fd_open_directory(int at, const char *name)
{
	return openat(at, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

/* Makes a connected pair of SOCK_SEQPACKET sockets, close-on-exec. Returns 0 or -errno. */
_must_check_ int fd_pair(int ret_pair[static 2]);

/*
 * Closes every descriptor from 3 on except the `count` descriptors in `keep`, which need not be
 * sorted. Negative entries are ignored. close_range(2)
 */
void fd_close_except(const int *keep, size_t count);

/*
 * Seals a memfd made with MFD_ALLOW_SEALING: nobody can change its content or size afterwards.
 * Returns 0 or -errno. memfd_create(2), "File sealing"
 */
_must_check_ int fd_seal(int memfd);

/* Returns a sealed memfd, mode 0400 and close-on-exec, that holds these bytes; or -errno. */
_must_check_ int fd_new_sealed(const char *name, const void *bytes, size_t length);

/*
 * Returns a sealed, executable memfd, mode 0555 and close-on-exec, or -errno. The content is copied
 * from the regular file `file`, which must be at offset 0.
 */
_must_check_ int fd_copy_program(const char *name, int file);

bool fd_same_file(const struct stat *a, const struct stat *b);

/*
 * Whether `directory` or an ancestor of it is `other`, compared by device and inode, not by name.
 * Also false if an ancestor cannot be opened.
 */
bool fd_is_in(int directory, const struct stat *other);

/*
 * As fd_is_in() for several directories. Walks up from `directory` and returns the index of the
 * first one found, the lowest index if several are the same directory; or `count` if none is found.
 */
size_t fd_find_above(int directory, const struct stat *others, size_t count);

/*
 * Replaces `*at` by its parent directory and closes the old descriptor. `*here` must hold the
 * fstat(2) data of `*at`, and is updated. False at the root directory, which is its own parent, and
 * if the parent cannot be opened: `*at` is -1 then.
 */
bool fd_climb(int *at, struct stat *here);

/*
 * Opens a stream of the directory's entries, with an offset that no other descriptor shares.
 * `directory` stays open. NULL if the directory cannot be opened. opendir(3)
 */
DIR *fd_entries(int directory);
static inline void fd_entries_close(DIR **entries)
{
	if (*entries)
		(void)closedir(*entries);
}

static inline void freep(void *p)
{
	free(*(void **)p);
}

/* Takes the pointer out of `*p`, which no longer owns it. */
#define steal_ptr(p)                        \
	({                                  \
		__typeof__(*(p)) _t = *(p); \
		*(p) = NULL;                \
		_t;                         \
	})

#define _cleanup_fd_   _cleanup_(fd_closep)
#define _cleanup_free_ _cleanup_(freep)
