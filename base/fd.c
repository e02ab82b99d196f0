/* SPDX-License-Identifier: Apache-2.0 */
/* See fd.h. */
#include "base/fd.h"

#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#ifndef MFD_EXEC
/* linux/memfd.h. With vm.memfd_noexec = 1, a memfd made without this flag cannot be executed. */
#define MFD_EXEC 0x10U
#endif

int fd_pair(int ret_pair[static 2])
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ret_pair) < 0 ? -errno : 0;
}

void fd_close_except(const int *keep, size_t count)
{
	for (unsigned from = 3;;) {
		unsigned next = ~0u;

		for (size_t i = 0; i < count; i++)
			if (keep[i] >= 0 && (unsigned)keep[i] >= from && (unsigned)keep[i] < next)
				next = (unsigned)keep[i];
		if (next > from)
			(void)syscall(SYS_close_range, from, next == ~0u ? next : next - 1, 0);
		if (next == ~0u)
			return;
		from = next + 1;
	}
}

DIR *fd_entries(int directory)
{
	int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *entries = own < 0 ? NULL : fdopendir(own);

	if (!entries)
		fd_close(own);
	return entries;
}

int fd_seal(int memfd)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	int set;

	if (fcntl(memfd, F_ADD_SEALS, seals) == 0)
		return 0;
	/* It may be sealed already. F_GET_SEALS fails with -1, which has every bit. */
	set = fcntl(memfd, F_GET_SEALS);
	return set >= 0 && (set & seals) == seals ? 0 : -EPERM;
}

int fd_new_sealed(const char *name, const void *bytes, size_t length)
{
	_cleanup_fd_ int memfd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (memfd < 0 || write(memfd, bytes, length) != (ssize_t)length)
		return errno ? -errno : -EIO;
	/*
	 * Seals do not protect extended attributes, but mode 0400 does: a process needs write
	 * permission to set user attributes. xattr(7)
	 */
	r = fchmod(memfd, 0400) < 0 ? -errno : fd_seal(memfd);
	return r < 0 ? r : steal_fd(&memfd);
}

int fd_copy_program(const char *name, int file)
{
	/* Before Linux 6.3, MFD_EXEC fails with EINVAL, and every memfd can be executed. */
	_cleanup_fd_ int memfd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
	struct stat st;
	int r;

	if (memfd < 0 && errno == EINVAL)
		memfd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (memfd < 0 || fstat(file, &st) < 0)
		return -errno;
	for (off_t done = 0; done < st.st_size;) {
		ssize_t n = sendfile(memfd, file, NULL, (size_t)(st.st_size - done));

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		done += n;
	}
	r = fchmod(memfd, 0555) < 0 ? -errno : fd_seal(memfd);
	return r < 0 ? r : steal_fd(&memfd);
}

bool fd_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool fd_climb(int *at, struct stat *here)
{
	struct stat last = *here;
	int up = openat(*at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);

	fd_close(*at);
	*at = up;
	return up >= 0 && fstat(up, here) == 0 && !fd_same_file(here, &last);
}

size_t fd_find_above(int directory, const struct stat *others, size_t count)
{
	_cleanup_fd_ int at = openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat here;

	if (at < 0 || fstat(at, &here) < 0)
		return count;
	do {
		for (size_t i = 0; i < count; i++)
			if (fd_same_file(&here, &others[i]))
				return i;
	} while (fd_climb(&at, &here));
	return count;
}

bool fd_is_in(int directory, const struct stat *other)
{
	return fd_find_above(directory, other, 1) == 0;
}
