/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See work.h: handles what yett-apply (workspace/apply/) keeps in a store, and what it leaves in
 * the source directory when it is killed.
 *
 * Runs as the caller. Only checks whether these files exist, and never reads them. A sandbox may
 * have filled the source directory, so no link there is followed.
 */
#include "workspace/store/work.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/entries.h"
#include "base/fd.h"
#include "base/escape.h"
#include "base/failure.h"
#include "base/memory.h"

#define STAGE_NAME ".yett-apply-"

int work_hold_apply(int store, const char *id, int *ret_lock, struct yett_error *error)
{
	_cleanup_fd_ int room =
		openat(store, "apply", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	*ret_lock = -1;
	if (room < 0)
		return 0; /* there was no apply, or the entry is not from yett-apply */
	if (flock(room, LOCK_EX | LOCK_NB) < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "yett apply works on the store %s", id);
	if (fstatat(room, "journal", &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	    fstatat(room, "journal.closed", &st, AT_SYMLINK_NOFOLLOW) == 0) {
		(void)error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"an apply of the store %s ended half-way, and still holds files that it took out of the directory",
			id);
		error_mend(
			error,
			"complete it with yett apply --continue %s, or undo it with yett apply --abort %s",
			id, id);
		return YETT_E_INVALID_REQUEST;
	}
	*ret_lock = steal_fd(&room);
	return 0;
}

int work_check_apply(int store, const char *id, struct yett_error *error)
{
	_cleanup_fd_ int lock = -1;

	return work_hold_apply(store, id, &lock, error);
}

bool work_is_empty(int directory, const char *name)
{
	_cleanup_fd_ int fd =
		openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_(fd_entries_close) DIR *entries = fd < 0 ? NULL : fd_entries(fd);
	const struct dirent *entry;

	if (!entries)
		return errno == ENOENT;
	return entries_next(entries, &entry) == 0 && !entry;
}

/*
 * Removes the entries of a stage: numbered files, links and empty directories, which are copies of
 * the store's entries. -ENOTEMPTY: an entry is something else.
 */
static int empty_stage(int stage)
{
	_cleanup_(fd_entries_close) DIR *entries = fd_entries(stage);
	const struct dirent *entry;
	int r = entries ? 0 : -errno;

	while (r == 0 && (r = entries_next(entries, &entry)) == 0 && entry) {
		if (entry->d_name[strspn(entry->d_name, "0123456789")])
			continue; /* removing the stage will fail because of this entry */
		if (unlinkat(stage, entry->d_name, 0) < 0 &&
		    (errno != EISDIR || unlinkat(stage, entry->d_name, AT_REMOVEDIR) < 0))
			return -errno;
	}
	return r;
}

/*
 * Opens the stage if yett-apply can have made it: it must belong to the caller alone. Returns a
 * descriptor or -errno.
 */
static int open_stage(int source, const char *name)
{
	_cleanup_fd_ int stage =
		openat(source, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (stage < 0 || fstat(stage, &st) < 0)
		return -errno;
	return st.st_uid == geteuid() && !(st.st_mode & 077) ? steal_fd(&stage) : -EPERM;
}

static int remove_stage(int source, const char *name)
{
	_cleanup_fd_ int stage = open_stage(source, name);
	int r = stage < 0 ? stage : empty_stage(stage);

	return r == 0 && unlinkat(source, name, AT_REMOVEDIR) < 0 ? -errno : r;
}

int work_leave_source(int store, const char *works, const char *id, struct yett_error *error)
{
	_cleanup_(memory_freep) void *owner = memory_new(1);
	_cleanup_fd_ int room = openat(store, "apply",
	                               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			 source = -1;
	char name[64];
	struct work_info info;
	struct stat st;
	int r;

	if (!owner || !work_read_info(store, owner, &info))
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a store");
	if (room >= 0 && !work_is_empty(room, "kept")) {
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                "the store %s has files of %s that yett apply could not put back",
		                id, ESCAPE(info.source));
		error_mend(
			error,
			"move them from %s/%s/apply/kept to where they belong, and discard it then",
			works, id);
		return YETT_E_INVALID_REQUEST;
	}
	source = room < 0 || !info.is_complete
	                 ? -1
	                 : open(info.source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (source < 0 || fstat(source, &st) < 0 || st.st_ino != info.inode ||
	    (!info.is_earlier_boot && st.st_dev != info.device))
		return 0; /* the source directory is gone or was replaced */
	(void)snprintf(name, sizeof name, STAGE_NAME "%s", id);
	r = remove_stage(source, name);
	if (r == 0 || r == -ENOENT)
		return 0;
	errno = -r;
	(void)failure_set(
		error, YETT_E_FILE_OPERATION_FAILED, NULL,
		"an apply of the store %s was interrupted, and its files in %s/%s cannot be removed: %m",
		id, ESCAPE(info.source), name);
	error_mend(
		error,
		"check those files, which may be copies from the store, and remove them; then discard the store");
	return YETT_E_FILE_OPERATION_FAILED;
}
