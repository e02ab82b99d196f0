/* SPDX-License-Identifier: Apache-2.0 */
/* See work_copy.h. */
#include "workspace/store/work_copy.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <search.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/entries.h"

#define NAMES_MAX 65536 /* bytes of attribute names: the kernel's limit */
#define VALUE_MAX 65536
#define OPAQUE    "user.overlay.opaque"
/*
 * Excludes the set-user-id and set-group-id bits: a sandbox must not give away rights of the
 * caller.
 */
#define OWN_MODE   (mode_t)01777
#define BUFFER     (size_t)(1024 * 1024)
#define OPEN_ENTRY (O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* A directory of the copied layer, and its counterpart in the copy. */
struct place {
	int from, to;
	unsigned depth;
	bool is_merged;             /* `to` may have entries, which hide those of `from` */
	const struct place *parent; /* NULL: this is the top of the layer */
	const char *name;           /* in `parent` */
};

/* A file with several hard links, and the place to which its first link was copied. */
struct linked {
	dev_t device;
	ino_t inode;
	char path[]; /* relative to the layer */
};

static int copy_directory(struct work_copy *copy, const struct place *place);

bool work_copy_is_whiteout(const struct stat *st)
{
	return S_ISCHR(st->st_mode) && st->st_rdev == makedev(0, 0);
}

bool work_copy_is_opaque(int directory)
{
	char value = 0;

	return fgetxattr(directory, OPAQUE, &value, 1) == 1 && value == 'y';
}

static int make_opaque(int directory)
{
	return fsetxattr(directory, OPAQUE, "y", 1, 0) < 0 ? -errno : 0;
}

/* Copies user.* attributes, in which overlays keep their metadata, and ACLs. */
static int copy_attributes(int from, int to)
{
	_cleanup_free_ char *names = malloc(NAMES_MAX), *value = malloc(VALUE_MAX);
	ssize_t length = names && value ? flistxattr(from, names, NAMES_MAX) : -1;

	if (!names || !value)
		return -ENOMEM;
	if (length < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	for (const char *name = names; name < names + length; name += strlen(name) + 1) {
		ssize_t n;

		if (strncmp(name, "user.", 5) != 0 && strncmp(name, "system.posix_acl_", 17) != 0)
			continue;
		n = fgetxattr(from, name, value, VALUE_MAX);
		if (n < 0 || fsetxattr(to, name, value, (size_t)n, 0) < 0)
			return -errno;
	}
	return 0;
}

/* Must come last: writing changes the times, and the copied mode may forbid writing. */
static int work_copy_copy_state(int from, int to)
{
	struct timespec times[2];
	struct stat st;
	int r = copy_attributes(from, to);

	if (r == 0 && fstat(from, &st) < 0)
		r = -errno;
	if (r < 0)
		return r;
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	if (fchown(to, (uid_t)-1, st.st_gid) < 0 && errno != EPERM)
		return -errno;
	return fchmod(to, st.st_mode & OWN_MODE) < 0 || futimens(to, times) < 0 ? -errno : 0;
}

/* Copies the bytes from `at` to `end`. Called for each range of data, so holes stay holes. */
static int copy_range(int from, int to, off_t at, off_t end)
{
	while (at < end) {
		off_t out = at;
		ssize_t n = copy_file_range(from, &at, to, &out, (size_t)(end - at), 0);

		if (n > 0)
			continue;
		if (n == 0)
			return -EIO;
		if (errno != EXDEV && errno != EINVAL && errno != EOPNOTSUPP && errno != ENOSYS)
			return -errno;
		_cleanup_free_ char *buffer = malloc(BUFFER);

		n = buffer ? pread(from, buffer,
		                   (size_t)(end - at) < BUFFER ? (size_t)(end - at) : BUFFER, at)
		           : -1;
		if (n <= 0 || pwrite(to, buffer, (size_t)n, at) != n)
			return n == 0 ? -EIO : -errno;
		at += n;
	}
	return 0;
}

static int copy_content(int from, int to)
{
	struct stat st;
	off_t data = 0, hole;
	int r = 0;

	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	if (fstat(from, &st) < 0 || ftruncate(to, st.st_size) < 0)
		return -errno;
	while (r == 0 && (data = lseek(from, data, SEEK_DATA)) >= 0) {
		hole = lseek(from, data, SEEK_HOLE);
		if (hole < 0)
			return -errno;
		r = copy_range(from, to, data, hole);
		data = hole;
	}
	return r < 0 || errno == ENXIO ? r : -errno; /* ENXIO: no data after the offset */
}

static int work_copy_copy_file(const struct place *place, const char *name)
{
	_cleanup_fd_ int from = openat(place->from, name, O_RDONLY | OPEN_ENTRY);
	_cleanup_fd_ int to =
		from < 0 ? -1
			 : openat(place->to, name, O_RDWR | O_CREAT | O_EXCL | OPEN_ENTRY, 0600);
	int r = to < 0 ? -errno : copy_content(from, to);

	return r == 0 ? work_copy_copy_state(from, to) : r;
}

static int compare_linked(const void *one, const void *other)
{
	const struct linked *a = one, *b = other;

	if (a->device != b->device)
		return a->device < b->device ? -1 : 1;
	return a->inode < b->inode ? -1 : a->inode > b->inode;
}

/*
 * Makes the path of `name` relative to the layer. *ret_layer is the layer, for linkat(2). Returns
 * 0, or -1 if the path is too long.
 */
static int work_copy_write_path(const struct place *place, const char *name,
                                char path[static PATH_MAX], const struct place **ret_layer)
{
	size_t at = PATH_MAX - 1, length = strlen(name);

	path[at] = '\0';
	for (; length < at; name = place->name, length = strlen(name), place = place->parent) {
		at -= length;
		memcpy(path + at, name, length);
		if (!place->parent) {
			memmove(path, path + at, PATH_MAX - at);
			*ret_layer = place;
			return 0;
		}
		path[--at] = '/';
	}
	return -1;
}

/*
 * Copies one link of a file that has several. Keeps the hard links, because separate copies of a
 * large file would take its disk space several times.
 */
static int copy_linked(struct work_copy *copy, const struct place *place, const char *name,
                       const struct stat *st)
{
	const struct place *layer;
	struct linked *linked, **found;
	char path[PATH_MAX];
	bool is_copied;

	if (work_copy_write_path(place, name, path, &layer) < 0)
		return -ENAMETOOLONG;
	linked = malloc(sizeof *linked + strlen(path) + 1);
	if (!linked)
		return -ENOMEM;
	linked->device = st->st_dev;
	linked->inode = st->st_ino;
	(void)strcpy(linked->path, path);
	found = tsearch(linked, &copy->linked, compare_linked);
	if (found && *found == linked)
		return work_copy_copy_file(place, name);
	is_copied = found && linkat(layer->to, (*found)->path, place->to, name, 0) == 0;
	free(linked);
	return is_copied ? 0 : found ? work_copy_copy_file(place, name) : -ENOMEM;
}

static int copy_link(const struct place *place, const char *name, const struct stat *st)
{
	const struct timespec times[] = {st->st_atim, st->st_mtim};
	char target[PATH_MAX];
	ssize_t n = readlinkat(place->from, name, target, sizeof target);

	if (n < 0 || n == sizeof target)
		return n < 0 ? -errno : -ENAMETOOLONG;
	target[n] = '\0';
	return symlinkat(target, place->to, name) < 0 ||
	                       utimensat(place->to, name, times, AT_SYMLINK_NOFOLLOW) < 0
	               ? -errno
	               : 0;
}

/*
 * Copies whiteouts, FIFOs and sockets, which have no content. Other devices cannot be made without
 * privilege.
 */
static int copy_node(const struct place *place, const char *name, const struct stat *st)
{
	const struct timespec times[] = {st->st_atim, st->st_mtim};

	if (!work_copy_is_whiteout(st) && !S_ISFIFO(st->st_mode) && !S_ISSOCK(st->st_mode))
		return -EPERM;
	if (mknodat(place->to, name, st->st_mode & (S_IFMT | OWN_MODE), st->st_rdev) < 0)
		return -errno;
	return utimensat(place->to, name, times, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
}

/*
 * Adds the lower directory to the copy of the upper one. The result keeps the mode and times of the
 * upper directory.
 */
static int copy_under(struct work_copy *copy, const struct place *place)
{
	struct timespec times[2];
	struct stat st;
	int r = fstat(place->to, &st) < 0 ? -errno : copy_directory(copy, place);

	if (r == 0 && work_copy_is_opaque(place->from))
		r = make_opaque(place->to);
	times[0] = st.st_atim;
	times[1] = st.st_mtim;
	return r == 0 && futimens(place->to, times) < 0 ? -errno : r;
}

static int copy_below_name(struct work_copy *copy, const struct place *place, const char *name,
                           bool is_there)
{
	_cleanup_fd_ int from = openat(place->from, name, O_RDONLY | O_DIRECTORY | OPEN_ENTRY),
			 to = -1;
	struct place below = {.from = from,
	                      .depth = place->depth + 1,
	                      .is_merged = is_there,
	                      .parent = place,
	                      .name = name};
	int r;

	if (from < 0)
		return -errno;
	if (below.depth > WORK_COPY_DEPTH)
		return -ELOOP;
	if (!is_there && mkdirat(place->to, name, 0700) < 0)
		return -errno;
	below.to = to = openat(place->to, name, O_RDONLY | O_DIRECTORY | OPEN_ENTRY);
	if (to < 0)
		return -errno;
	if (is_there)
		return work_copy_is_opaque(to) ? 0 : copy_under(copy, &below);
	r = copy_directory(copy, &below);
	return r == 0 ? work_copy_copy_state(from, to) : r;
}

/*
 * Skips a lower entry that the upper entry hides. If the upper entry is a directory, it becomes
 * opaque: the lower entry is not a directory and has kept directories further below from showing
 * through.
 */
static int work_copy_cover(const struct place *place, const char *name, const struct stat *above)
{
	_cleanup_fd_ int to = -1;

	if (!S_ISDIR(above->st_mode))
		return 0;
	to = openat(place->to, name, O_RDONLY | O_DIRECTORY | OPEN_ENTRY);
	return to < 0 ? -errno : make_opaque(to);
}

static int copy_entry(struct work_copy *copy, const struct place *place, const char *name)
{
	struct stat st, above;
	bool is_there =
		place->is_merged && fstatat(place->to, name, &above, AT_SYMLINK_NOFOLLOW) == 0;

	if (fstatat(place->from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (is_there && !(S_ISDIR(st.st_mode) && S_ISDIR(above.st_mode)))
		return work_copy_cover(place, name, &above);
	if (S_ISDIR(st.st_mode))
		return copy_below_name(copy, place, name, is_there);
	if (S_ISREG(st.st_mode))
		return st.st_nlink > 1 ? copy_linked(copy, place, name, &st)
		                       : work_copy_copy_file(place, name);
	return S_ISLNK(st.st_mode) ? copy_link(place, name, &st) : copy_node(place, name, &st);
}

/*
 * Adds a name in front of copy->failed. The innermost directory calls first, so the names become a
 * path.
 */
static void report_failed(struct work_copy *copy, const char *name)
{
	char rest[WORK_COPY_PATH];

	(void)snprintf(rest, sizeof rest, "%s", copy->failed);
	(void)snprintf(copy->failed, sizeof copy->failed, "%s%s%.*s", name, *rest ? "/" : "",
	               WORK_COPY_PATH / 2, rest);
}

static int copy_directory(struct work_copy *copy, const struct place *place)
{
	DIR *opened = fd_entries(place->from);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;
	int r = opened ? 0 : -errno;

	while (r == 0 && (r = entries_next(entries, &entry)) == 0 && entry) {
		r = copy_entry(copy, place, entry->d_name);
		if (r < 0)
			report_failed(copy, entry->d_name);
	}
	return r;
}

int work_copy_layer(struct work_copy *copy, int from, int to)
{
	const struct place place = {.from = from, .to = to};
	int r;

	*copy = (struct work_copy){0};
	r = copy_directory(copy, &place);
	tdestroy(copy->linked, free);
	copy->linked = NULL;
	return r == 0 ? work_copy_copy_state(from, to) : r;
}

int work_copy_below(struct work_copy *copy, int below, int to)
{
	const struct place place = {.from = below, .to = to, .is_merged = true};
	int r;

	*copy = (struct work_copy){0};
	r = copy_under(copy, &place);
	tdestroy(copy->linked, free);
	copy->linked = NULL;
	return r;
}
