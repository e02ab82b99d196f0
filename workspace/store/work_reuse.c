/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See work.h: opens an existing store, and prepares it for the next sandbox.
 *
 * Runs as the caller. The client holds the lock of the store whenever it changes the store, until
 * the sandbox's init takes the lock. So init always opens a complete store.
 */
#include "workspace/store/work.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/escape.h"
#include "base/failure.h"
#include "base/memory.h"
#include "base/sandbox_name.h"
#include "workspace/store/work_pending.h"

int work_open(const char *id, int *ret_store, struct yett_error *error)
{
	_cleanup_fd_ int root = -1, store = -1;
	char path[HOME_PATH_SIZE];
	struct stat st;
	int r = work_open_all(false, &root, path, error);

	if (r)
		return r;
	if (root >= 0 && sandbox_name_is_id(id))
		store = openat(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (store < 0 || fstat(store, &st) < 0)
		return error_set(
			error, YETT_E_NOT_FOUND, YETT_R_NONE,
			"there is no store %.40s in %s; yett work list tells which there are",
			ESCAPE(id), path);
	if (st.st_uid != geteuid() || (st.st_mode & 077))
		return error_set(
			error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
			"the store %s/%s is another user's, or others may use it: chmod 700 %s/%s",
			path, id, path, id);
	*ret_store = steal_fd(&store);
	return 0;
}

/* Init holds the lock as long as its sandbox exists: programs/inside/init/build/workspace.c. */
bool work_is_used(int store)
{
	/* shared, because others may test at the same time */
	return flock(store, LOCK_SH | LOCK_NB) < 0;
}

/* Tries several times: a process that only tests, as in work_is_used(), soon releases the lock. */
int work_lock(int store, const char *id, struct yett_error *error)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	for (unsigned i = 0; i < WORK_LOCK_TRIES; i++) {
		if (flock(store, LOCK_EX | LOCK_NB) == 0)
			return 0;
		(void)nanosleep(&moment, NULL);
	}
	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                "a sandbox works on the store %s", id);
	error_mend(error, "end it first: yett work list tells which it is, yett destroy ends it");
	return YETT_E_INVALID_REQUEST;
}

int work_find(const char *id, struct work **works, struct yett_error *error)
{
	_cleanup_(memory_freep) void *owner = memory_new(1);
	_cleanup_fd_ int store = -1;
	struct work_info info;
	struct work *work;
	int r = work_open(id, &store, error);

	if (r)
		return r;
	if (!owner || !work_read_info(store, owner, &info) || !(work = calloc(1, sizeof *work)))
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a store");
	*work = (struct work){.next = *works,
	                      .store = steal_fd(&store),
	                      .source = strdup(info.source),
	                      .created_ms = info.created_ms,
	                      .device = info.device,
	                      .inode = info.inode,
	                      .is_old = true};
	(void)snprintf(work->id, sizeof work->id, "%s", id);
	work->target = strdup(info.target);
	*works = work;
	if (!work->source || !work->target)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a store");
	if (!info.is_complete)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"the store %s does not say yet which directory it is for: its sandbox is still being made, or could not be made",
			id);
	if (info.is_earlier_boot) /* each boot may number devices anew */
		work->device = 0;
	return 0;
}

/*
 * Compares inode and, if known, device, not the name: another directory may have the name by now.
 */
static int compare_source(const struct work *work, int source, const char *name,
                          struct yett_error *error)
{
	struct stat st, named;

	if (fstat(source, &st) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot share %s: %m",
		                   name);
	if (st.st_ino == work->inode && (!work->device || st.st_dev == work->device))
		return 0;
	if (stat(work->source, &named) == 0 && fd_same_file(&named, &st))
		(void)error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"the store %s is about %s as it was: another directory has that name now",
			work->id, ESCAPE(work->source));
	else
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                "the store %s is about %s, and not about %s", work->id,
		                ESCAPE(work->source), ESCAPE(name));
	error_mend(
		error,
		"the changes are in the store: move that directory back to where it was, or copy what you need out of the store");
	return YETT_E_INVALID_REQUEST;
}

/*
 * Replaces "work". The overlay is mounted "volatile", so the kernel leaves a mark in "work" and
 * refuses to mount the store again: after a crash of the machine, data may be missing.
 */
static int renew(const struct work *work)
{
	_cleanup_fd_ int upper =
		openat(work->store, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	int r;

	if (upper < 0 || fstat(upper, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid())
		return -EPERM;
	r = work_remove_part(work->store, "work");
	return r == 0 && mkdirat(work->store, "work", 0700) < 0 ? -errno : r;
}

int work_reuse(struct work *work, int source, const char *name, const char *target,
               struct yett_error *error)
{
	char *other = strcmp(target, work->target) == 0 ? NULL : strdup(target);
	int r = compare_source(work, source, name, error);
	struct stat st;

	if (other) {
		free(work->target);
		work->target = other;
	}
	if (r == 0)
		r = work_lock(work->store, work->id, error);
	if (r == 0)
		r = work_check_apply(work->store, work->id, error);
	if (r == 0)
		r = pending_settle_store(work->store, work->id, error);
	if (r) {
		(void)flock(work->store, LOCK_UN);
		return r;
	}
	r = renew(work);
	(void)flock(work->store, LOCK_UN); /* the sandbox's init takes it */
	if (r < 0) {
		errno = -r;
		(void)failure_set(
			error, YETT_E_FILE_OPERATION_FAILED, NULL,
			"cannot use the store %s: \"upper\" must be a directory of yours, and \"work\" must be removable: %m",
			work->id);
		return YETT_E_FILE_OPERATION_FAILED;
	}
	if (fstat(source, &st) == 0)
		work->device = st.st_dev;
	return 0;
}
