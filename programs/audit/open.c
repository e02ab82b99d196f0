/* SPDX-License-Identifier: Apache-2.0 */
/* See open.h. */
#include "programs/audit/open.h"
#include "programs/audit/slots.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>

#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

static bool open_is_own(int fd, mode_t kind)
{
	struct stat st;

	return fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == kind && st.st_uid == geteuid() &&
	       !(st.st_mode & OTHERS_WRITE) && (kind != S_IFREG || st.st_nlink == 1);
}

/*
 * Opens a file that belongs to this user alone. Does not follow links. Returns a descriptor; -EPERM
 * if another user owns the file or can write it, or it has the wrong type or a second name; or
 * -errno.
 */
static int audit_open_own(int directory, const char *name, int flags, mode_t kind)
{
	_cleanup_fd_ int fd =
		openat(directory, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	return open_is_own(fd, kind) ? steal_fd(&fd) : -EPERM;
}

static int open_segment(int directory, uint32_t number, int flags)
{
	char name[32];

	(void)snprintf(name, sizeof name, SLOTS_SEGMENT_NAME, number);
	return audit_open_own(directory, name, O_RDWR | O_APPEND | flags, S_IFREG);
}

/* Finds the last segment that is not empty, and the size of all segments. */
static int open_look(int directory, struct open_files *files)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(directory);
	struct dirent *entry;
	struct stat st;

	files->segment_number = files->next_number = 0;
	files->bytes = 0;
	while (entries && (errno = 0, entry = readdir(entries))) {
		uint32_t number = slots_segment_number(entry->d_name);

		if (number == 0 || fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		files->bytes += S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
		/*
		 * Any other kind of file uses up its number, too, so that an attacker's file is
		 * never opened as our segment.
		 */
		if (number > files->segment_number && (!S_ISREG(st.st_mode) || st.st_size > 0))
			files->segment_number = number;
	}
	return !entries || errno ? -(errno ?: EIO) : 0;
}

/*
 * Optional steps, so errors are ignored: reserve disk space, and set the append-only attribute so
 * that even root does not change the segment by mistake (ioctl_iflags(2)).
 */
static void open_prepare(int segment, uint64_t room)
{
	int flags;

	(void)!fallocate(segment, FALLOC_FL_KEEP_SIZE, 0, (off_t)room);
	if (ioctl(segment, FS_IOC_GETFLAGS, &flags) == 0 && !(flags & FS_APPEND_FL)) {
		flags |= FS_APPEND_FL;
		(void)ioctl(segment, FS_IOC_SETFLAGS, &flags);
	}
}

static int audit_open_all(int directory, uint64_t room, struct open_files *files)
{
	int r;

	files->state = audit_open_own(directory, SLOTS_STATE_NAME, O_RDWR | O_CREAT, S_IFREG);
	if (files->state < 0)
		return files->state;
	/* The process that holds the lock is still writing the records that it received. */
	if (flock(files->state, LOCK_EX) < 0)
		return -errno;
	r = open_look(directory, files);
	if (r < 0)
		return r;
	/*
	 * A segment that cannot be opened, or is a link, is left alone; the log writer then records
	 * it as lost.
	 */
	if (files->segment_number > 0)
		files->segment = open_segment(directory, files->segment_number, 0);
	files->next_number = files->segment_number + 1;
	files->next = files->next_number > SLOTS_SEGMENT_LAST
	                      ? -EMFILE
	                      : open_segment(directory, files->next_number, O_CREAT);
	if (files->next < 0)
		return files->next;
	open_prepare(files->next, room);
	return fsync(directory) < 0 ? -errno : 0;
}

int open_files(const char *path, uint64_t room, struct open_files *ret_files)
{
	_cleanup_fd_ int directory = -1;
	struct open_files files = {.state = -1, .segment = -1, .next = -1};
	int r;

	if (mkdir(path, 0700) < 0 && errno != EEXIST && errno != EROFS)
		return -errno;
	r = directory = audit_open_own(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, S_IFDIR);
	if (r >= 0)
		r = audit_open_all(directory, room, &files);
	if (r == 0) {
		*ret_files = files;
		return 0;
	}
	(void)fd_close(files.state);
	(void)fd_close(files.segment);
	(void)fd_close(files.next);
	return r;
}
