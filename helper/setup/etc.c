/* See etc.h. */
#include "helper/setup/etc.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#define ETC_BYTES_MAX (16 << 20) /* of all files together: /etc is configuration, and this copy lives in memory */
#define ETC_DEPTH_MAX 8

struct copying {
	uint32_t owner;
	off_t bytes;
	struct etc_trees *trees; /* NULL: all is copied */
	const char *path;        /* the one of the list that is being copied */
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

/* `made` is what making it returned. 1, or 0 where there is one already, which stays; or -errno. */
static int take_over(const struct copying *copying, int made, int dir, const char *name)
{
	if (made < 0)
		return errno == EEXIST ? 0 : -errno;
	if (copying->owner != UINT32_MAX && fchownat(dir, name, copying->owner, copying->owner, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return 1;
}

static int make_link(const struct copying *copying, const char *target, int dir, const char *name)
{
	int r = take_over(copying, symlinkat(target, dir, name), dir, name);

	return r < 0 ? r : 0;
}

static int make_directory(const struct copying *copying, int dir, const char *name)
{
	int r = take_over(copying, mkdirat(dir, name, 0755), dir, name);

	return r < 0 ? r : 0;
}

/* A new file, or -EEXIST. */
static int make_file(const struct copying *copying, int dir, const char *name)
{
	_cleanup_fd_ int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	int r = take_over(copying, fd, dir, name);

	return r <= 0 ? (r < 0 ? r : -EEXIST) : steal_fd(&fd);
}

/* Secrets are what not everyone may read; they stay where they are. */
static bool is_public(const struct stat *st)
{
	return st->st_mode & S_IROTH && (!S_ISDIR(st->st_mode) || st->st_mode & S_IXOTH);
}

static int copy_file(struct copying *copying, int from, int to, const char *name)
{
	_cleanup_fd_ int in = openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), out = -1;
	struct stat st; /* of what was opened: it may have been replaced since it was looked at */

	if (in < 0 || fstat(in, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISREG(st.st_mode) || !is_public(&st))
		return 0;
	if (st.st_size > ETC_BYTES_MAX - copying->bytes)
		return -EFBIG;
	copying->bytes += st.st_size;
	out = make_file(copying, to, name);
	if (out < 0)
		return out == -EEXIST ? 0 : out;
	for (ssize_t n = 1; st.st_size > 0 && n > 0; st.st_size -= n) {
		n = sendfile(out, in, NULL, (size_t)st.st_size);
		if (n < 0)
			return -errno;
	}
	return 0;
}

static int copy_any(struct copying *copying, int from, int to, const char *name, unsigned char type, int depth);

static int copy_directory(struct copying *copying, int from, int to, const char *name, int depth)
{
	_cleanup_fd_ int below = -1;
	int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r = make_directory(copying, to, name);
	DIR *entries = in < 0 ? NULL : fdopendir(in);

	if (!entries) {
		fd_close(in);
		return -EIO;
	}
	if (r == 0)
		below = openat(to, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (r == 0 && below < 0)
		r = -errno;
	for (struct dirent *entry = readdir(entries); r == 0 && entry; entry = readdir(entries))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			r = copy_any(copying, dirfd(entries), below, entry->d_name, entry->d_type, depth + 1);
	(void)closedir(entries);
	return r;
}

/* `type` is as readdir(3) tells it: most of what there is are links, which need no look besides. */
static int copy_any(struct copying *copying, int from, int to, const char *name, unsigned char type, int depth)
{
	struct stat st = {.st_mode = DTTOIF(type)};
	char link[PATH_MAX];
	ssize_t n;

	if (type != DT_LNK && fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode)) {
		n = readlinkat(from, name, link, sizeof link - 1);
		if (n < 0)
			return errno == ENOENT ? 0 : -errno;
		link[n] = '\0';
		return make_link(copying, link, to, name);
	}
	if (!is_public(&st))
		return 0;
	if (S_ISREG(st.st_mode))
		return copy_file(copying, from, to, name);
	return S_ISDIR(st.st_mode) && depth < ETC_DEPTH_MAX ? copy_directory(copying, from, to, name, depth) : 0;
}

/* Of the directory, which is closed, and all below it. A link leads to what is there inside. */
static bool is_all_public(int fd, int depth)
{
	DIR *entries = fdopendir(fd);
	struct stat st;
	bool is_public_so_far = entries && depth < ETC_DEPTH_MAX && fstat(fd, &st) == 0 && is_public(&st);

	if (!entries)
		fd_close(fd);
	for (struct dirent *entry; is_public_so_far && (entry = readdir(entries));) {
		if (entry->d_type == DT_LNK || strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
			is_public_so_far = false;
		else if (S_ISREG(st.st_mode))
			is_public_so_far = is_public(&st);
		else
			is_public_so_far =
				is_all_public(openat(fd, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), depth + 1);
	}
	if (entries)
		(void)closedir(entries);
	return is_public_so_far;
}

/*
 * Takes hold of the host's own directory, of which nothing need be copied then. Nothing that not everyone may read is in it now; what
 * is put there later the kernel shows to whom it would show it anyway. Whether it could: else, as where something is mounted in it, it
 * is copied.
 */
static bool take_tree(struct copying *copying, int from, const char *name)
{
	struct mount_attr attributes = {.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, .propagation = MS_PRIVATE};
	_cleanup_fd_ int dir = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), tree = -1;

	if (dir < 0 || copying->trees->count == ETC_TREES_MAX || !is_all_public(fcntl(dir, F_DUPFD_CLOEXEC, 3), 0))
		return false;
	tree = open_tree(dir, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attributes, sizeof attributes) < 0)
		return false;
	copying->trees->items[copying->trees->count].path = copying->path;
	copying->trees->items[copying->trees->count++].tree = steal_fd(&tree);
	return true;
}

/*
 * "ssl/certs" stands on its own in the policy's list: then "ssl" has to be made. No link is followed in the copy: the host's files
 * are in sight. 0 or -errno.
 */
static int copy_path(struct copying *copying, int from, int to, const char *path)
{
	const char *slash = strchr(path, '/');
	_cleanup_fd_ int below_from = -1, below_to = -1;
	char name[NAME_MAX + 1];
	int r;

	if (!slash && copying->trees && take_tree(copying, from, path))
		return make_directory(copying, to, path);
	if (!slash)
		return copy_any(copying, from, to, path, DT_UNKNOWN, 0);
	(void)snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
	r = make_directory(copying, to, name);
	if (r < 0)
		return r;
	below_from = openat(from, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
	below_to = openat(to, name, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return below_from < 0 || below_to < 0 ? -errno : copy_path(copying, below_from, below_to, slash + 1);
}

static int make_own(const struct copying *copying, int dir)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(own); i++) {
		_cleanup_fd_ int fd = own[i].link ? -1 : make_file(copying, dir, own[i].name);

		if (own[i].link)
			r = make_link(copying, own[i].link, dir, own[i].name);
		else if (fd < 0)
			r = fd;
		else if (write(fd, own[i].content, strlen(own[i].content)) != (ssize_t)strlen(own[i].content))
			r = -EIO;
	}
	return r;
}

int etc_copy(const struct policy_list *names, int root, uint32_t owner, struct etc_trees *trees)
{
	_cleanup_fd_ int from = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC), to = -1;
	struct copying copying = {.owner = owner, .trees = trees};
	int r = from < 0 ? -errno : make_directory(&copying, root, "etc");

	if (r == 0)
		to = openat(root, "etc", O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (r == 0)
		r = to < 0 ? -errno : make_own(&copying, to); /* first: what is there stays, whatever the policy names */
	for (size_t i = 0; r == 0 && i < names->count; i++) {
		if (faccessat(from, names->items[i], F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
			continue;
		copying.path = names->items[i];
		r = copy_path(&copying, from, to, copying.path);
	}
	return r;
}
