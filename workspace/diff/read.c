/* SPDX-License-Identifier: Apache-2.0 */
/* See diff.h. */
#include "workspace/diff/diff.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#define BLOCK ((size_t)128 << 10)

int read_open(int directory, const char *path, int flags)
{
	/* openat2(2) refuses these flags together with O_PATH. */
	int more = flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK;
	struct open_how how = {.flags = (uint64_t)(flags | more | O_NOFOLLOW | O_CLOEXEC),
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
	long fd = syscall(SYS_openat2, directory, *path ? path : ".", &how, sizeof how);

	return fd < 0 ? -errno : (int)fd;
}

/* Opens a regular file. -EAGAIN: the file is no longer regular. */
static int open_file(int directory, const char *path, struct stat *ret_st)
{
	int fd = read_open(directory, path, O_RDONLY);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_st) == 0 && S_ISREG(ret_st->st_mode))
		return fd;
	fd_close(fd);
	return -EAGAIN;
}

static ssize_t diff_read_whole(int fd, char *bytes, size_t size)
{
	size_t length = 0;

	while (length < size) {
		ssize_t n = read(fd, bytes + length, size - length);

		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			break;
		length += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)length;
}

static bool read_is_unchanged(int fd, const struct stat *before)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_size == before->st_size &&
	       now.st_ctim.tv_sec == before->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

/* Returns 1 if they are equal, 0 if not; -errno. */
static int diff_read_compare(int a, int b)
{
	_cleanup_free_ char *of_a = malloc(BLOCK), *of_b = malloc(BLOCK);

	if (!of_a || !of_b)
		return -ENOMEM;
	for (;;) {
		ssize_t n = diff_read_whole(a, of_a, BLOCK), m = diff_read_whole(b, of_b, BLOCK);

		if (n < 0 || m < 0)
			return (int)(n < 0 ? n : m);
		if (n != m || memcmp(of_a, of_b, (size_t)n) != 0)
			return 0;
		if (n == 0)
			return 1;
	}
}

static int read_link(int directory, const char *path, char **ret_bytes, size_t *ret_size)
{
	_cleanup_fd_ int fd = read_open(directory, path, O_PATH);
	_cleanup_free_ char *bytes = malloc(4097);
	ssize_t n = fd < 0 || !bytes ? -1 : readlinkat(fd, "", bytes, 4096);

	if (fd < 0 || !bytes || n < 0)
		return fd < 0 ? fd : !bytes ? -ENOMEM : -errno;
	*ret_bytes = steal_ptr(&bytes);
	*ret_size = (size_t)n;
	return 0;
}

static int compare_files(const struct diff *diff, const struct change *of_old,
                         const struct change *of_new)
{
	struct stat old_st, new_st;
	_cleanup_fd_ int old = open_file(diff->source, of_old->path, &old_st);
	_cleanup_fd_ int new = open_file(diff->layers[of_new->layer], of_new->path, &new_st);
	int r = old < 0 ? old : new < 0 ? new : diff_read_compare(old, new);

	return r >= 0 && (!read_is_unchanged(old, &old_st) || !read_is_unchanged(new, &new_st))
	               ? -EAGAIN
	               : r;
}

int read_compare(const struct diff *diff, const struct change *of_old, const struct change *of_new)
{
	_cleanup_free_ char *old = NULL, *new = NULL;
	size_t old_size, new_size;
	int r;

	if (S_ISREG(of_new->new.mode))
		return compare_files(diff, of_old, of_new);
	r = read_link(diff->source, of_old->path, &old, &old_size);
	if (r == 0)
		r = read_link(diff->layers[of_new->layer], of_new->path, &new, &new_size);
	return r < 0 ? r : old_size == new_size && memcmp(old, new, new_size) == 0;
}

bool read_is_same(struct diff *diff, const struct change *change)
{
	int r;

	if (change->new.size > DIFF_COMPARE_MAX) {
		note(diff, change->path,
		     "is too large to be compared with the source, and is listed as modified");
		return false;
	}
	r = read_compare(diff, change, change);
	if (r < 0)
		note(diff, change->path, r == -EAGAIN ? "changed while it was read" : strerror(-r));
	return r == 1;
}

/* FNV-1a */
static uint64_t digest(uint64_t so_far, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		so_far = (so_far ^ (unsigned char)bytes[i]) * 0x100000001b3;
	return so_far;
}

int read_digest(int directory, const char *path, const struct side *side, uint64_t *ret_digest)
{
	_cleanup_fd_ int fd = -1;
	_cleanup_free_ char *bytes = NULL;
	uint64_t so_far = 0xcbf29ce484222325;
	struct stat st;
	size_t size = 0;
	ssize_t n = 0;

	if (S_ISLNK(side->mode)) {
		n = read_link(directory, path, &bytes, &size);
		*ret_digest = n < 0 ? 0 : digest(so_far, bytes, size);
		return (int)n;
	}
	fd = open_file(directory, path, &st);
	bytes = malloc(BLOCK);
	if (fd < 0 || !bytes)
		return fd < 0 ? fd : -ENOMEM;
	while ((uint64_t)size < side->size && (n = diff_read_whole(fd, bytes, BLOCK)) > 0) {
		so_far = digest(so_far, bytes, (size_t)n);
		size += (size_t)n;
	}
	*ret_digest = so_far;
	return n < 0 ? (int)n : size == side->size ? 0 : -EAGAIN;
}

int read_content(int directory, const char *path, const struct side *side, char **ret_bytes,
                 size_t *ret_size)
{
	_cleanup_fd_ int fd = -1;
	_cleanup_free_ char *bytes = NULL;
	struct stat st;
	ssize_t n;

	if (S_ISLNK(side->mode))
		return read_link(directory, path, ret_bytes, ret_size);
	fd = open_file(directory, path, &st);
	if (fd < 0)
		return fd;
	if ((uint64_t)st.st_size != side->size)
		return -EAGAIN;
	bytes = malloc((size_t)st.st_size + 1);
	n = bytes ? diff_read_whole(fd, bytes, (size_t)st.st_size + 1) : -ENOMEM;
	if (n < 0)
		return (int)n;
	if (n != st.st_size || !read_is_unchanged(fd, &st))
		return -EAGAIN;
	*ret_bytes = steal_ptr(&bytes);
	*ret_size = (size_t)n;
	return 0;
}
