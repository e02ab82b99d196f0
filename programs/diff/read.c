/* See diff.h. */
#include "programs/diff/diff.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#define BLOCK ((size_t)128 << 10)

int read_open(int directory, const char *path, int flags)
{
	int more = flags & O_PATH ? 0 : O_NOCTTY | O_NONBLOCK; /* with O_PATH they are refused */
	struct open_how how = {.flags = (uint64_t)(flags | more | O_NOFOLLOW | O_CLOEXEC),
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
	long fd = syscall(SYS_openat2, directory, *path ? path : ".", &how, sizeof how);

	return fd < 0 ? -errno : (int)fd;
}

/* A regular file, which it may no longer be. */
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

static ssize_t read_whole(int fd, char *bytes, size_t size)
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

static bool is_unchanged(int fd, const struct stat *before)
{
	struct stat now;

	return fstat(fd, &now) == 0 && now.st_size == before->st_size && now.st_ctim.tv_sec == before->st_ctim.tv_sec &&
	       now.st_ctim.tv_nsec == before->st_ctim.tv_nsec;
}

/* 1: the same; 0: not; -errno. */
static int compare(int a, int b)
{
	_cleanup_free_ char *of_a = malloc(BLOCK), *of_b = malloc(BLOCK);

	if (!of_a || !of_b)
		return -ENOMEM;
	for (;;) {
		ssize_t n = read_whole(a, of_a, BLOCK), m = read_whole(b, of_b, BLOCK);

		if (n < 0 || m < 0)
			return (int)(n < 0 ? n : m);
		if (n != m || memcmp(of_a, of_b, (size_t)n) != 0)
			return 0;
		if (n == 0)
			return 1;
	}
}

bool read_is_same(struct diff *diff, const struct change *change)
{
	const char *path = change->path;
	_cleanup_fd_ int old = -1, new = -1;
	struct stat old_st, new_st;
	int r;

	if (change->new.size > DIFF_COMPARE_MAX) {
		note(diff, path, "is too large to be compared with the source; it is told as modified");
		return false;
	}
	old = open_file(diff->source, path, &old_st);
	new = open_file(diff->layers[change->layer], path, &new_st);
	r = old < 0 ? old : new < 0 ? new : compare(old, new);
	if (r >= 0 && (!is_unchanged(old, &old_st) || !is_unchanged(new, &new_st)))
		r = -EAGAIN;
	if (r < 0)
		note(diff, path, r == -EAGAIN ? "changed while it was read" : strerror(-r));
	return r == 1;
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

int read_content(int directory, const char *path, const struct side *side, char **ret_bytes, size_t *ret_size)
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
	n = bytes ? read_whole(fd, bytes, (size_t)st.st_size + 1) : -ENOMEM;
	if (n < 0)
		return (int)n;
	if (n != st.st_size || !is_unchanged(fd, &st))
		return -EAGAIN;
	*ret_bytes = steal_ptr(&bytes);
	*ret_size = (size_t)n;
	return 0;
}
