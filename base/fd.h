/*
 * Descriptors and memory that clean up after themselves.
 *
 * Every folder uses this header; it owns nothing and needs no privilege. A variable marked
 * `_cleanup_(x)` is released when it leaves its scope; steal_fd() and steal_ptr() hand it on.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define _cleanup_(f)   __attribute__((cleanup(f)))
#define _must_check_   __attribute__((warn_unused_result))
#define _unused_       __attribute__((unused))
#define _printf_(a, b) __attribute__((format(printf, a, b)))

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Closes `fd` if it is one; returns -1, so that `fd = fd_close(fd)` leaves nothing dangling. errno
 * is kept. */
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

/* poll(2) for one, which may be -1. */
static inline int fd_poll(int fd, short events, int timeout_ms)
{
	struct pollfd wait = {.fd = fd, .events = events};

	return poll(&wait, 1, timeout_ms);
}

/* Closes every descriptor from 3 on but the `count` ones of `keep` (unsorted, -1 is passed over).
 * close_range(2). */
void fd_close_except(const int *keep, size_t count);

/* From here on nobody can change what is in a memfd made with MFD_ALLOW_SEALING. 0 or -errno.
 * memfd_create(2), "File sealing" */
_must_check_ int fd_seal(int memfd);

/* A sealed memfd, close-on-exec, with these bytes; or -errno. */
_must_check_ int fd_new_sealed(const char *name, const void *bytes, size_t length);

/* A sealed memfd, close-on-exec, with what is in the regular file `file` from its offset on, to be
 * executed; or -errno. */
_must_check_ int fd_copy_program(const char *name, int file);

bool fd_same_file(const struct stat *a, const struct stat *b);

/* Whether `directory` or one above it is the other one. Names play no part; false, too, where that
 * cannot be seen. */
bool fd_is_in(int directory, const struct stat *other);

/* The same of several: which of them comes first on the way up, of equal ones the first, or
 * `count`. */
size_t fd_find_above(int directory, const struct stat *others, size_t count);

/* Goes to the directory above `*at`, which is closed, and which `*here` tells of. False at the
 * root, and where that cannot be seen. */
bool fd_climb(int *at, struct stat *here);

/* What is in the directory, to be read once and by nobody else; NULL where that cannot be.
 * opendir(3) */
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
