/* SPDX-License-Identifier: Apache-2.0 */
/* See work.h, and "work" in yett-workspace.h. */
#include "workspace/store/work.h"

#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/entries.h"
#include "base/fd.h"
#include "base/fd_path.h"
#include "base/failure.h"
#include "base/home.h"
#include "base/memory.h"
#include "base/sandbox_name.h"
#include "workspace/store/work_layers.h"

static int find_works(char path[HOME_PATH_SIZE], struct yett_error *error)
{
	int r = home_find_state(path, error);

	if (r == 0)
		(void)strcat(path, WORKSPACE_STORES);
	return r;
}

int work_open_all(bool make, int *ret_works, char path[HOME_PATH_SIZE], struct yett_error *error)
{
	struct stat st;
	int r = find_works(path, error);

	*ret_works = -1;
	if (r)
		return r;
	for (char *slash = path; make && slash; slash = strchr(slash + 1, '/')) {
		char *end = strchr(slash + 1, '/');

		if (end)
			*end = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
			                   "cannot make the directory %s: %m", path);
		if (end)
			*end = '/';
	}
	*ret_works = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (*ret_works < 0 && errno == ENOENT && !make)
		return 0;
	if (*ret_works < 0 || fstat(*ret_works, &st) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                   "cannot use the directory %s: %m", path);
	/* A copied set-id file keeps its bit in a store, so others must not enter it. */
	if (st.st_uid == geteuid() && !(st.st_mode & 077))
		return 0;
	*ret_works = fd_close(*ret_works);
	return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                 "%s is another user's, or others may use it: chmod 700 %s", path, path);
}

static void work_free(struct work *work)
{
	fd_close(work->store);
	free(work->source);
	free(work->target);
	free(work->hidden);
	free(work);
}

int work_make_like(int parent, const char *name, const struct stat *like)
{
	if (mkdirat(parent, name, 0700) < 0)
		return -errno;
	if (fchownat(parent, name, (uid_t)-1, like->st_gid, AT_SYMLINK_NOFOLLOW) < 0 &&
	    errno != EPERM)
		return -errno;
	return fchmodat(parent, name, like->st_mode & 0777, 0) < 0 ? -errno : 0;
}

/*
 * The overlay shows the mode and group of "upper" at its top, so "upper" gets those of the source.
 */
static int fill_store(int store, const struct stat *source)
{
	int r = work_make_like(store, "upper", source);

	if (r == 0 && mkdirat(store, "work", 0700) < 0)
		r = -errno;
	return r == 0 && fchmodat(store, "work", 0700, 0) < 0 ? -errno : r;
}

/*
 * Returns a ctime in ns that is no earlier than the ctime of any file so far, and no later than any
 * future ctime. 0: unknown. Since Linux 6.13, the first change after a stat(2) gets a fine-grained
 * ctime that no other change has; hence the fstatat() before the fchmodat(). On older kernels, all
 * changes within some milliseconds have the same ctime.
 */
static uint64_t read_stamp(int store)
{
	struct stat st;

	if (fstatat(store, "upper", &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(store, "upper", st.st_mode & 07777, 0) < 0 ||
	    fstatat(store, "upper", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return (uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
}

static uint64_t read_uptime(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void work_new_id(char id[static YETT_ID_SIZE])
{
	uint32_t serial[2];

	randombytes_buf(serial, sizeof serial);
	(void)snprintf(id, YETT_ID_SIZE, "%08x%08x", serial[0], serial[1]);
}

int work_make(int source, const char *target, struct work **works, struct yett_error *error)
{
	struct work *work = calloc(1, sizeof *work);
	_cleanup_fd_ int root = -1;
	char path[HOME_PATH_SIZE], real[PATH_MAX];
	struct stat st;
	int r = work ? work_open_all(true, &root, path, error) : -ENOMEM;

	if (r) {
		free(work);
		return r > 0 ? r
		             : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                         "no memory for a store");
	}
	work->store = -1;
	(void)fd_path(source, real);
	work_new_id(work->id);
	work->source = strdup(real);
	work->target = strdup(target);
	work->created_ms = clock_wall_ms();
	r = !work->source || !work->target                                ? -ENOMEM
	    : fstat(source, &st) < 0 || mkdirat(root, work->id, 0700) < 0 ? -errno
	                                                                  : 0;
	if (r == 0 && (work->store = openat(root, work->id,
	                                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		r = -errno;
	if (r == 0) {
		work->device = st.st_dev;
		work->inode = st.st_ino;
		work->next = *works;
		*works = work;
		r = fill_store(work->store, &st);
		work->stamp_ns = read_stamp(work->store);
		work->uptime_ns = read_uptime();
	} else {
		(void)unlinkat(root, work->id, AT_REMOVEDIR);
		work_free(work);
	}
	errno = -r;
	return r == 0 ? 0
	              : failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
	                            "cannot make a store in %s: %m", path);
}

void work_drop(struct work **works)
{
	_cleanup_fd_ int root = -1;
	char path[HOME_PATH_SIZE];

	if (*works && work_open_all(false, &root, path, NULL) != 0)
		root = -1;
	for (struct work *work = *works, *next; work; work = next) {
		next = work->next;
		if (root >= 0 && !work->is_old)
			/* If this fails, the rest is listed as a store and can be discarded. */
			(void)!work_remove(root, work->id, work->store);
		work_free(work);
	}
	*works = NULL;
}

void work_keep(struct work **works, const char *sandbox, const char *name)
{
	for (struct work *work = *works, *next; work; work = next) {
		next = work->next;
		/*
		 * If this fails, the store is listed without this information and still has the
		 * changes.
		 */
		(void)!work_write_info(work, sandbox, name);
		work_free(work);
	}
	*works = NULL;
}

/* Fills in the information that the store keeps about itself. False: no memory. */
static bool report_info(int store, struct yett_work *work)
{
	struct work_info info;

	if (!work_read_info(store, work, &info))
		return false;
	work->source = info.source;
	work->target = info.target;
	work->sandbox = info.sandbox;
	work->name = info.name;
	work->created_ms = info.created_ms;
	work->is_complete = info.is_complete;
	work->inode = info.inode;
	work->is_earlier_boot = info.is_earlier_boot;
	work->hidden = info.hidden;
	work->hidden_count = info.hidden_count;
	return true;
}

/*
 * A store without complete information is being made, or was left half-made. Such a store is not
 * tested for use: the test takes the lock of the store for a moment, and the sandbox for which the
 * store is made could then not take it.
 */
static struct yett_work *read_work(int root, const char *works, const char *id)
{
	_cleanup_fd_ int store = openat(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_(memory_freep) struct yett_work *work = memory_new(sizeof *work);
	size_t size = strlen(works) + YETT_ID_SIZE + 1;
	char *path;

	if (!work)
		return NULL;
	*work = (struct yett_work){
		.size = sizeof *work, .source = "", .target = "", .sandbox = "", .name = ""};
	(void)snprintf(work->id, sizeof work->id, "%.16s", id);
	path = memory_add(work, size);
	if (!path)
		return NULL;
	(void)snprintf(path, size, "%s/%s", works, id);
	work->store = path;
	if (store >= 0 && !report_info(store, work))
		return NULL;
	work->is_used = work->is_complete && work_is_used(store);
	work->is_changed = store < 0 || work_is_changed(store);
	return steal_ptr(&work);
}

int yett_works_list(struct yett_work_list **ret_list, struct yett_error *error)
{
	_cleanup_(memory_freep) struct list *list = memory_new(sizeof *list);
	_cleanup_fd_ int root = -1;
	_cleanup_(fd_entries_close) DIR *entries = NULL;
	char path[HOME_PATH_SIZE];
	const struct dirent *entry;
	int r = work_open_all(false, &root, path, error);

	if (r)
		return r;
	entries = root < 0 ? NULL : fd_entries(root);
	while (list && entries && (r = entries_next(entries, &entry)) == 0 && entry) {
		struct yett_work *work = sandbox_name_is_id(entry->d_name)
		                                 ? read_work(root, path, entry->d_name)
		                                 : NULL;

		if (sandbox_name_is_id(entry->d_name) && (!work || !list_add(list, work)))
			return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                 "no memory for a list");
	}
	if (!list)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a list");
	errno = -r;
	if (r < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot list %s: %m",
		                   path);
	*ret_list = (struct yett_work_list *)steal_ptr(&list);
	return 0;
}

size_t yett_work_list_count(const struct yett_work_list *list)
{
	return ((const struct list *)list)->count;
}

const struct yett_work *yett_work_list_get(const struct yett_work_list *list, size_t i)
{
	const struct list *works = (const struct list *)list;

	return i < works->count ? works->items[i] : NULL;
}

/*
 * Locks the layers, so that nobody copies from the store, not even a call that began while a
 * sandbox used the store. Fails only if another process has the lock: a store in which the lock
 * cannot be made is locked by nobody.
 */
static int hold_layers(struct layers *layers, int store, struct yett_error *error)
{
	struct yett_error why = {0};
	int r;

	layers->store = openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = layers_lock(layers, &why);
	if (r != YETT_E_INVALID_REQUEST)
		return 0;
	if (error)
		*error = why;
	return r;
}

static int discard(const char *id, bool even_changed, struct yett_error *error)
{
	_cleanup_(layers_close) struct layers layers;
	_cleanup_fd_ int root = -1, store = -1, lock = -1;
	char path[HOME_PATH_SIZE];
	int r = work_open_all(false, &root, path, error);

	layers_begin(&layers, -1, id);
	if (r == 0)
		r = work_open(id, &store, error);
	if (r == 0)
		r = work_lock(store, id, error);
	if (r == 0 && !even_changed && work_is_changed(store))
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		              "something was changed in the store %s", id);
	if (r == 0)
		r = hold_layers(&layers, store, error);
	if (r)
		return r;
	r = work_hold_apply(store, id, &lock, error);
	if (r == 0)
		r = work_leave_source(store, path, id, error);
	if (r)
		return r;
	r = work_remove(root, id, store);
	errno = -r;
	return r == 0 ? 0
	              : failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
	                            "cannot remove all of the store %s in %s: %m", id, path);
}

int yett_work_discard(const char *id, struct yett_error *error)
{
	return discard(id, true, error);
}

int yett_work_discard_unchanged(const char *id, struct yett_error *error)
{
	return discard(id, false, error);
}
