/* SPDX-License-Identifier: Apache-2.0 */
/* See share_check.h. */
#include "libclient/share_check.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/failure.h"
#include "base/fd.h"
#include "base/fd_path.h"
#include "libclient/workspace.h"

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
 * Sets `path` to `what` in the state directory. `state` caches the state directory: an empty one is
 * looked up here, and is empty again if the look-up fails.
 */
static int find_kept(char state[HOME_PATH_SIZE], const char *what, char path[HOME_PATH_SIZE],
                     struct yett_error *error)
{
	int r = *state ? 0 : home_find_state(state, error);

	if (r)
		*state = '\0';
	else
		(void)strcat(strcpy(path, state), what);
	return r;
}

/*
 * Entries of the state directory that a sandbox must not write. `what` says in an error what is in
 * them.
 */
enum kept { KEPT_WORK, KEPT_SESSIONS };
static const struct {
	const char *name, *what;
} kept_apart[] = {
	[KEPT_WORK] = {WORKSPACE_STORES, "copy-on-write changes are kept"},
	[KEPT_SESSIONS] = {"sessions", "sessions of sandboxes are kept"},
};

/* Opens the directory `fd`, or the directory in which the file `fd` is located. */
static int share_check_open_above(int fd, const struct stat *st)
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
static int check_apart(char state[HOME_PATH_SIZE], int fd, bool is_written, const char *name,
                       size_t i, struct yett_error *error)
{
	_cleanup_fd_ int kept = -1, above = -1;
	char path[HOME_PATH_SIZE];
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
	above = share_check_open_above(fd, &st);
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

int share_check(char state[HOME_PATH_SIZE], int fd, bool is_written, const char *name,
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
	char copy[HOME_PATH_SIZE];
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

int share_check_cow(char state[HOME_PATH_SIZE], int source, const char *name, bool in_memory,
                    struct yett_error *error)
{
	_cleanup_fd_ int near = -1;
	char path[HOME_PATH_SIZE];
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
