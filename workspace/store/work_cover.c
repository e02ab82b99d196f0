/* SPDX-License-Identifier: Apache-2.0 */
/* See work_cover.h. */
#include "workspace/store/work_cover.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#include "base/entries.h"
#include "base/fd.h"
#include "workspace/store/work.h"
#include "workspace/store/work_copy.h"

/*
 * A directory of symbolic links. The name of a link is an inode number, its target is "MODE ATIME
 * MTIME".
 */
#define KEPT       "settling"
#define ORIGIN     "user.overlay.origin"
#define NAME_SIZE  24
#define TEXT_SIZE  96
#define OPEN_BELOW (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)

/* A directory of the upper layer. */
struct level {
	const struct cover *cover;
	int fd;
	char path[32];  /* its path in /proc/self/fd */
	struct stat st; /* the state to restore at the end */
	bool is_changed;
};

static void work_cover_name_of(const struct level *level, char name[static NAME_SIZE])
{
	(void)snprintf(name, NAME_SIZE, "%llu", (unsigned long long)level->st.st_ino);
}

static int work_cover_open_kept(const struct cover *cover)
{
	return openat(cover->store, KEPT, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Reads the state of the directory that an interrupted call has recorded. */
static void recall(struct level *level)
{
	_cleanup_fd_ int kept = level->cover->is_kept ? work_cover_open_kept(level->cover) : -1;
	struct stat st = level->st;
	char name[NAME_SIZE], text[TEXT_SIZE];
	ssize_t n;

	work_cover_name_of(level, name);
	n = kept < 0 ? -1 : readlinkat(kept, name, text, sizeof text - 1);
	text[n < 0 ? 0 : n] = '\0';
	if (n <= 0 || sscanf(text, "%o %ld.%ld %ld.%ld", &st.st_mode, &st.st_atim.tv_sec,
	                     &st.st_atim.tv_nsec, &st.st_mtim.tv_sec, &st.st_mtim.tv_nsec) != 5)
		return;
	level->st.st_mode = (level->st.st_mode & S_IFMT) | (st.st_mode & 07777);
	level->st.st_atim = st.st_atim;
	level->st.st_mtim = st.st_mtim;
	level->is_changed = true;
}

static int work_cover_keep(const struct level *level)
{
	_cleanup_fd_ int kept = -1;
	char name[NAME_SIZE], text[TEXT_SIZE];

	if (!level->cover->is_kept)
		return 0;
	if (mkdirat(level->cover->store, KEPT, 0700) < 0 && errno != EEXIST)
		return -errno;
	kept = work_cover_open_kept(level->cover);
	work_cover_name_of(level, name);
	(void)snprintf(text, sizeof text, "%o %ld.%09ld %ld.%09ld", level->st.st_mode & 07777,
	               level->st.st_atim.tv_sec, level->st.st_atim.tv_nsec,
	               level->st.st_mtim.tv_sec, level->st.st_mtim.tv_nsec);
	return kept < 0 || symlinkat(text, kept, name) < 0 ? -errno : 0;
}

/* Records the state of the directory, then gives its owner all permissions. */
static int begin_change(struct level *level)
{
	int r = level->is_changed ? 0 : work_cover_keep(level);

	if (r < 0)
		return r;
	level->is_changed = true;
	if ((level->st.st_mode & 0700) != 0700 &&
	    chmod(level->path, (level->st.st_mode | 0700) & 07777) < 0)
		return -errno;
	return 0;
}

static int end_change(struct level *level)
{
	const struct timespec times[] = {level->st.st_atim, level->st.st_mtim};
	_cleanup_fd_ int kept = -1;
	char name[NAME_SIZE];

	if (!level->is_changed)
		return 0;
	if (((level->st.st_mode & 0700) != 0700 &&
	     chmod(level->path, level->st.st_mode & 07777) < 0) ||
	    utimensat(AT_FDCWD, level->path, times, 0) < 0)
		return -errno;
	kept = level->cover->is_kept ? work_cover_open_kept(level->cover) : -1;
	work_cover_name_of(level, name);
	return kept >= 0 && unlinkat(kept, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int cover_directory(struct level *level, int below, unsigned depth);

static int cover_below(const struct level *above, int under, const char *name, unsigned depth)
{
	_cleanup_fd_ int found = openat(above->fd, name, O_PATH | OPEN_BELOW), fd = -1;
	struct level level = {.cover = above->cover};
	int r, ended;

	if (found < 0 || fstat(found, &level.st) < 0)
		return -errno;
	if (depth > WORK_COPY_DEPTH)
		return -ELOOP;
	(void)snprintf(level.path, sizeof level.path, "/proc/self/fd/%d", found);
	recall(&level);
	r = (level.st.st_mode & 0500) == 0500 && !level.is_changed ? 0 : begin_change(&level);
	level.fd = fd = r == 0 ? open(level.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	if (r == 0)
		r = fd < 0 ? -errno : cover_directory(&level, under, depth);
	ended = end_change(&level);
	return r < 0 ? r : ended;
}

/*
 * The kernel looks for whiteouts only in directories that are merged or were copied up. This
 * directory will be merged, but may be alone after layers are merged later. An empty "origin"
 * attribute marks it as copied up from an unknown place.
 */
static int work_cover_put_whiteout(struct level *above, const char *name)
{
	int r = begin_change(above);

	if (r == 0 && fgetxattr(above->fd, ORIGIN, NULL, 0) < 0 &&
	    fsetxattr(above->fd, ORIGIN, "", 0, 0) < 0)
		r = -errno;
	return r == 0 && mknodat(above->fd, name, S_IFCHR, makedev(0, 0)) < 0 ? -errno : r;
}

static int cover_entry(struct level *above, int below, const char *name, unsigned depth)
{
	_cleanup_fd_ int under = -1;
	struct stat st, covering;

	if (fstatat(below, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (work_copy_is_whiteout(&st))
		return 0;
	if (fstatat(above->fd, name, &covering, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? work_cover_put_whiteout(above, name) : -errno;
	if (!S_ISDIR(st.st_mode) || !S_ISDIR(covering.st_mode))
		return 0;
	under = openat(below, name, OPEN_BELOW);
	return under < 0 ? -errno : cover_below(above, under, name, depth + 1);
}

static int cover_directory(struct level *level, int below, unsigned depth)
{
	bool is_opaque = work_copy_is_opaque(level->fd);
	DIR *opened = is_opaque ? NULL : fd_entries(below);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;
	int r = opened || is_opaque ? 0 : -errno;

	while (r == 0 && opened && (r = entries_next(entries, &entry)) == 0 && entry)
		r = cover_entry(level, below, entry->d_name, depth);
	return r;
}

int cover_layer(const struct cover *cover, int below, const char *name)
{
	const struct level store = {.cover = cover, .fd = cover->store};

	return cover_below(&store, below, name, 0);
}

int cover_end(const struct cover *cover)
{
	return work_remove_part(cover->store, KEPT);
}
