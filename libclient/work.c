/* SPDX-License-Identifier: Apache-2.0 */
/* See work.h, and "work" in yett.h. */
#include "libclient/work.h"

#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>

#include "base/clock.h"
#include "base/entries.h"
#include "base/escape.h"
#include "base/fd.h"
#include "base/fd_path.h"
#include "base/failure.h"
#include "libclient/keyfile.h"
#include "libclient/memory.h"
#include "libclient/work_layers.h"

/*
 * File systems that are refused as a layer: network and FUSE file systems, whose files change
 * without the knowledge of the kernel; overlays; and FAT and exFAT, which overlayfs does not take.
 * statfs(2)
 */
static const struct {
	uint32_t magic;
	const char *name;
} no_layers[] = {
	{0x6969, "NFS"},       {0x65735546, "FUSE"}, {0x794c7630, "overlay"},
	{0xff534d42, "CIFS"},  {0xfe534d42, "SMB"},  {0x01021997, "9p"},
	{0x5346414f, "AFS"},   {0x00c36400, "Ceph"}, {0x786f4256, "vboxsf"},
	{0x2011bab0, "exFAT"}, {0x4d44, "FAT"},
};

static const char *no_layer(int fd)
{
	struct statfs sfs;

	if (fstatfs(fd, &sfs) < 0)
		return "unknown";
	for (size_t i = 0; i < ARRAY_SIZE(no_layers); i++)
		if ((uint32_t)sfs.f_type == no_layers[i].magic)
			return no_layers[i].name;
	return NULL;
}

/*
 * Finds the state directory of the caller, by the XDG Base Directory Specification, and appends
 * "/yett/".
 */
static int libclient_work_find_state(char path[KEYFILE_PATH_SIZE], struct yett_error *error)
{
	const char *state = secure_getenv("XDG_STATE_HOME");
	int r = 0;

	if (!state || state[0] != '/')
		r = keyfile_home(path, KEYFILE_PATH_SIZE - 64, error);
	else if (snprintf(path, KEYFILE_PATH_SIZE - 64, "%s", state) >= KEYFILE_PATH_SIZE - 64)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		              "XDG_STATE_HOME is longer than a path can be");
	if (r == 0)
		(void)strcat(path, state && state[0] == '/' ? "/yett/" : "/.local/state/yett/");
	return r;
}

/*
 * Sets `path` to `what` in the state directory. `state` caches the state directory: an empty one is
 * looked up here, and is empty again if the look-up fails.
 */
static int find_kept(char state[KEYFILE_PATH_SIZE], const char *what, char path[KEYFILE_PATH_SIZE],
                     struct yett_error *error)
{
	int r = *state ? 0 : libclient_work_find_state(state, error);

	if (r)
		*state = '\0';
	else
		(void)strcat(strcpy(path, state), what);
	return r;
}

static int find_works(char path[KEYFILE_PATH_SIZE], struct yett_error *error)
{
	char state[KEYFILE_PATH_SIZE] = "";

	return find_kept(state, "work", path, error);
}

int work_open_all(bool make, int *ret_works, char path[KEYFILE_PATH_SIZE], struct yett_error *error)
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

/*
 * Entries of the state directory that a sandbox must not write. `what` says in an error what is in
 * them.
 */
enum kept { KEPT_WORK, KEPT_SESSIONS };
static const struct {
	const char *name, *what;
} kept_apart[] = {
	[KEPT_WORK] = {"work", "copy-on-write changes are kept"},
	[KEPT_SESSIONS] = {"sessions", "sessions of sandboxes are kept"},
};

/* Opens the directory `fd`, or the directory in which the file `fd` is located. */
static int libclient_work_open_above(int fd, const struct stat *st)
{
	char file[PATH_MAX];

	if (S_ISDIR(st->st_mode))
		return openat(fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	(void)fd_path(fd, file);
	if (strrchr(file, '/'))
		*strrchr(file, '/') = '\0';
	return open(file, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* If the directory does not exist, a share cannot change it. A read-only share may contain it:
 * guard_put() masks it. */
static int check_apart(char state[KEYFILE_PATH_SIZE], int fd, bool is_written, const char *name,
                       size_t i, struct yett_error *error)
{
	_cleanup_fd_ int kept = -1, above = -1;
	char path[KEYFILE_PATH_SIZE];
	struct stat st, kept_st, own;
	bool is_hidden;

	if (find_kept(state, kept_apart[i].name, path, NULL) != 0)
		return 0; /* without a home nothing is kept */
	kept = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (kept < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (kept < 0 || fstat(fd, &st) < 0 || fstat(kept, &kept_st) < 0 || stat(state, &own) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                   "cannot look at %s, which %s may hold: %m", path, name);
	above = libclient_work_open_above(fd, &st);
	is_hidden = !is_written && !fd_same_file(&st, &own);
	if ((is_hidden || !fd_is_in(kept, &st)) && (above < 0 || !fd_is_in(above, &kept_st)))
		return 0;
	(void)error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                "cannot share %s: it contains, or is located in, %s, where %s", name, path,
	                kept_apart[i].what);
	error_mend(
		error,
		"share those directories below it that are needed; or keep that elsewhere: XDG_STATE_HOME=DIR");
	return YETT_E_SECURITY_VIOLATION;
}

int work_check_share(char state[KEYFILE_PATH_SIZE], int fd, bool is_written, const char *name,
                     struct yett_error *error)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(kept_apart); i++)
		r = check_apart(state, fd, is_written, name, i, error);
	return r;
}

/* Opens the directory, or the nearest existing one above it, in which it would be made. */
static int open_nearest(const char *path, bool *ret_is_there)
{
	char copy[KEYFILE_PATH_SIZE];
	int fd;

	(void)snprintf(copy, sizeof copy, "%s", path);
	*ret_is_there = true;
	while ((fd = open(copy, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0 && errno == ENOENT &&
	       strrchr(copy, '/') != copy) {
		*strrchr(copy, '/') = '\0';
		*ret_is_there = false;
	}
	return fd;
}

int work_check_source(char state[KEYFILE_PATH_SIZE], int source, const char *name, bool in_memory,
                      struct yett_error *error)
{
	_cleanup_fd_ int near = -1;
	char path[KEYFILE_PATH_SIZE];
	const char *no = no_layer(source);
	bool is_there;
	struct stat st, kept;
	int r;

	if (fstat(source, &st) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot share %s: %m",
		                   name);
	if (!S_ISDIR(st.st_mode))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "cannot share %s copy-on-write: it is no directory", name);
	if (st.st_uid != geteuid()) {
		(void)error_set(
			error, YETT_E_PERMISSION_DENIED, YETT_R_NONE,
			"cannot share %s copy-on-write: it belongs to another user (uid %u)", name,
			st.st_uid);
		error_mend(error, "share it read-only, or make a copy of your own: cp -r");
		return YETT_E_PERMISSION_DENIED;
	}
	if (no) {
		(void)error_set(
			error, YETT_E_UNSUPPORTED, YETT_R_NONE,
			"cannot share %s copy-on-write: its file system (%s) cannot be behind an overlay",
			name, no);
		error_mend(error, "copy it to a local file system, as ext4, xfs, btrfs or tmpfs");
		return YETT_E_UNSUPPORTED;
	}
	/* Also for changes in memory: the sandbox could read the sessions. */
	r = check_apart(state, source, true, name, KEPT_SESSIONS, error);
	if (r == 0)
		r = find_kept(state, kept_apart[KEPT_WORK].name, path, error);
	if (r)
		return r;
	near = open_nearest(path, &is_there);
	if (near < 0 || fstat(near, &kept) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                   "cannot use the directory %s: %m", path);
	if ((is_there && fd_is_in(source, &kept)) || (!in_memory && fd_is_in(near, &st))) {
		(void)error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"cannot share %s copy-on-write: it contains, or is located in, the directory of the changes, %s",
			name, path);
		error_mend(
			error,
			"share a directory below it; or have that kept elsewhere (XDG_STATE_HOME=DIR), or in memory: --cow PATH:memory=SIZE");
		return YETT_E_INVALID_REQUEST;
	}
	no = in_memory ? NULL : no_layer(near);
	if (!no)
		return 0;
	(void)error_set(
		error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		"changes cannot be kept in %s: its file system (%s) cannot hold layers of an overlay",
		path, no);
	error_mend(
		error,
		"keep the changes on a local file system (XDG_STATE_HOME=DIR), or in memory (--cow PATH:memory=SIZE)");
	return YETT_E_UNSUPPORTED;
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
	char path[KEYFILE_PATH_SIZE], real[PATH_MAX];
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
	char path[KEYFILE_PATH_SIZE];

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
	char path[KEYFILE_PATH_SIZE];
	const struct dirent *entry;
	int r = work_open_all(false, &root, path, error);

	if (r)
		return r;
	entries = root < 0 ? NULL : fd_entries(root);
	while (list && entries && (r = entries_next(entries, &entry)) == 0 && entry) {
		struct yett_work *work =
			work_is_id(entry->d_name) ? read_work(root, path, entry->d_name) : NULL;

		if (work_is_id(entry->d_name) && (!work || !list_add(list, work)))
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
	char path[KEYFILE_PATH_SIZE];
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
