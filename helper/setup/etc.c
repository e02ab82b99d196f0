/* See etc.h. */
#include "helper/setup/etc.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ETC_BYTES_MAX (16u << 20) /* of all files together: /etc is configuration, and this copy lives in memory */
#define ETC_DEPTH_MAX 8

struct item {
	struct item *next;
	mode_t type;
	size_t size;
	char *content; /* of a file, or the target of a link */
	char path[];   /* relative to /etc */
};

struct etc {
	struct item *first, **end;
	size_t bytes;
};

/* What is not the host's: no network and no other users are to be told of. */
static const struct {
	const char *name, *content, *link;
} own[] = {
	{"passwd", NULL, "/run/yett/passwd"},
	{"group", NULL, "/run/yett/group"},
	{"mtab", NULL, "/proc/self/mounts"},
	{"hosts", "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n", NULL},
	{"nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n", NULL},
	{"resolv.conf", "# no network\n", NULL},
};

static int add(struct etc *etc, const char *path, mode_t type, char *content, size_t size)
{
	struct item *item = malloc(sizeof *item + strlen(path) + 1);

	if (!item) {
		free(content);
		return -ENOMEM;
	}
	*item = (struct item){.type = type, .content = content, .size = size};
	memcpy(item->path, path, strlen(path) + 1);
	*etc->end = item;
	etc->end = &item->next;
	etc->bytes += size;
	return 0;
}

static int read_file(struct etc *etc, int fd, const char *path, size_t size)
{
	_cleanup_free_ char *content = malloc(size + 1);
	ssize_t n;

	if (etc->bytes + size > ETC_BYTES_MAX)
		return -EFBIG;
	if (!content)
		return -ENOMEM;
	n = read(fd, content, size);
	return n < 0 ? -errno : add(etc, path, S_IFREG, steal_ptr(&content), (size_t)n);
}

static int read_any(struct etc *etc, int dir, const char *name, const char *path, int depth);

static int read_directory(struct etc *etc, int fd, const char *path, int depth)
{
	int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = add(etc, path, S_IFDIR, NULL, 0);
	DIR *entries = copy < 0 ? NULL : fdopendir(copy);
	char below[PATH_MAX];

	if (!entries) {
		fd_close(copy);
		return -EIO;
	}
	for (struct dirent *entry = readdir(entries); r == 0 && entry; entry = readdir(entries)) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below)
			r = read_any(etc, fd, entry->d_name, below, depth + 1);
	}
	(void)closedir(entries);
	return r;
}

static int read_any(struct etc *etc, int dir, const char *name, const char *path, int depth)
{
	struct stat st;
	_cleanup_fd_ int fd = -1;
	char link[PATH_MAX];

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode)) {
		ssize_t n = readlinkat(dir, name, link, sizeof link - 1);

		return n < 0 ? -errno : add(etc, path, S_IFLNK, strndup(link, (size_t)n), 0);
	}
	/* Secrets are what not everyone may read; they stay where they are. */
	if (!(st.st_mode & S_IROTH) || (S_ISDIR(st.st_mode) && !(st.st_mode & S_IXOTH)))
		return 0;
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		return read_file(etc, fd, path, (size_t)st.st_size);
	return depth < ETC_DEPTH_MAX ? read_directory(etc, fd, path, depth) : 0;
}

int etc_read(const struct policy_list *names, struct etc **ret_etc)
{
	_cleanup_(etc_freep) struct etc *etc = calloc(1, sizeof *etc);
	_cleanup_fd_ int dir = open("/etc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (!etc || dir < 0)
		return etc ? -errno : -ENOMEM;
	etc->end = &etc->first;
	for (size_t i = 0; i < names->count; i++) {
		int r = read_any(etc, dir, names->items[i], names->items[i], 0);

		if (r < 0)
			return r;
	}
	*ret_etc = steal_ptr(&etc);
	return 0;
}

static int write_file(int dir, const char *path, const char *content, size_t size, uint32_t owner)
{
	_cleanup_fd_ int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);

	if (fd < 0 || (owner != UINT32_MAX && fchown(fd, owner, owner) < 0))
		return -errno;
	return write(fd, content, size) == (ssize_t)size ? 0 : -EIO;
}

/* "ssl/certs" stands on its own in the policy's list: then "ssl" has to be made. */
static int make_parent(int dir, const char *path, uint32_t owner)
{
	char copy[PATH_MAX];

	(void)snprintf(copy, sizeof copy, "%s", path);
	for (char *slash = strchr(copy, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdirat(dir, copy, 0755) == 0) {
			if (fchownat(dir, copy, owner, owner, 0) < 0)
				return -errno;
		} else if (errno != EEXIST) {
			return -errno;
		}
		*slash = '/';
	}
	return 0;
}

static int make_item(int dir, const struct item *item, uint32_t owner)
{
	int r;

	if (item->type == S_IFREG)
		return write_file(dir, item->path, item->content, item->size, owner);
	r = item->type == S_IFDIR ? mkdirat(dir, item->path, 0755) : symlinkat(item->content, dir, item->path);
	if (r < 0)
		return errno == EEXIST ? 0 : -errno;
	return owner != UINT32_MAX && fchownat(dir, item->path, owner, owner, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

static int write_item(int dir, const struct item *item, uint32_t owner)
{
	int r = make_item(dir, item, owner);

	if (r != -ENOENT)
		return r;
	r = make_parent(dir, item->path, owner);
	return r == 0 ? make_item(dir, item, owner) : r;
}

int etc_write(const struct etc *etc, const char *directory, uint32_t owner)
{
	_cleanup_fd_ int dir = -1;
	int r = 0;

	if (mkdir(directory, 0755) < 0 || chown(directory, owner, owner) < 0)
		return -errno;
	dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(own); i++) {
		if (own[i].link)
			r = symlinkat(own[i].link, dir, own[i].name) < 0 ? -errno : 0;
		else
			r = write_file(dir, own[i].name, own[i].content, strlen(own[i].content), owner);
	}
	/* Ours come first and stay: O_NOFOLLOW and EEXIST keep a policy that names one of them from replacing it by the host's. */
	for (const struct item *item = etc->first; r == 0 && item; item = item->next) {
		bool is_own = false;

		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			is_own = is_own || strcmp(item->path, own[i].name) == 0;
		if (!is_own)
			r = write_item(dir, item, owner);
	}
	return r;
}

void etc_free(struct etc *etc)
{
	struct item *next;

	if (!etc)
		return;
	for (struct item *item = etc->first; item; item = next) {
		next = item->next;
		free(item->content);
		free(item);
	}
	free(etc);
}
