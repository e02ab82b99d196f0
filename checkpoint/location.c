/* SPDX-License-Identifier: Apache-2.0 */
/* See location.h. */
#include "checkpoint/location.h"

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/failure.h"

#define FILE_NAME   "checkpoints.db"
#define LONGEST_END strlen("-journal") /* longest suffix that SQLite appends to the name */

/* Converts errno into `error`. */
static int location_failed(struct yett_error *error, const char *what, const char *path)
{
	return failure_set(error, errno == ENOENT ? YETT_E_NOT_FOUND : YETT_E_FILE_OPERATION_FAILED,
	                   NULL, "cannot %s %s: %m", what, path);
}

static int too_long(struct yett_error *error)
{
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
	                 "the path of the store is too long");
}

/*
 * $XDG_STATE_HOME, or ~/.local/state. A path that is not absolute is ignored (XDG Base Directory
 * Specification).
 */
static int find_state_home(char out[static PATH_MAX], struct yett_error *error)
{
	const char *home = secure_getenv("XDG_STATE_HOME"), *below = "";
	char buffer[16384];
	struct passwd entry, *found = NULL;

	if (!home || home[0] != '/') {
		below = "/.local/state";
		home = NULL;
		if (getpwuid_r(geteuid(), &entry, buffer, sizeof buffer, &found) == 0 && found)
			home = found->pw_dir;
	}
	if (!home || home[0] != '/')
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                 "this user has no home directory to keep checkpoints in");
	return (size_t)snprintf(out, PATH_MAX, "%s%s", home, below) < PATH_MAX ? 0
	                                                                       : too_long(error);
}

/* Makes a directory and syncs its parent, so that the new entry survives a power cut. */
static int location_make_directory(const char *path, struct yett_error *error)
{
	char above[PATH_MAX];
	_cleanup_fd_ int fd = -1;

	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : location_failed(error, "make the directory", path);
	(void)snprintf(above, sizeof above, "%s/..", path);
	fd = open(above, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return location_failed(error, "write the directory", above);
	return 0;
}

/* Makes every missing directory of an absolute path. */
static int location_make_directories(char *path, struct yett_error *error)
{
	int r = 0;

	for (char *at = strchr(path + 1, '/'); r == 0 && at; at = strchr(at + 1, '/')) {
		*at = '\0';
		r = location_make_directory(path, error);
		*at = '/';
	}
	return r ? r : location_make_directory(path, error);
}

static int location_default_directory(bool must_exist, char out[static PATH_MAX],
                                      struct yett_error *error)
{
	size_t length;
	int r = find_state_home(out, error);

	if (r)
		return r;
	length = strlen(out);
	if ((size_t)snprintf(out + length, PATH_MAX - length, "/yett") >= PATH_MAX - length)
		return too_long(error);
	return must_exist ? 0 : location_make_directories(out, error);
}

/* Splits the caller's path into directory and file name. */
static int location_split(const char *path, char directory[static PATH_MAX], const char **ret_file,
                          struct yett_error *error)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	int length = slash ? (int)(slash - path) : 0;

	if (!*file || strcmp(file, ".") == 0 || strcmp(file, "..") == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "'%s' names no file for a store", path);
	if (strlen(path) >= PATH_MAX || strlen(file) + LONGEST_END > NAME_MAX)
		return too_long(error);
	(void)snprintf(directory, PATH_MAX, "%.*s", length, path);
	if (!length)
		(void)strcpy(directory, slash ? "/" : ".");
	*ret_file = file;
	return 0;
}

/*
 * Refuses a directory in which others can write: they could replace the store or SQLite's files
 * beside it.
 */
static int location_check_directory(int fd, const char *path, struct yett_error *error)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return location_failed(error, "look at the directory", path);
	if (st.st_uid != geteuid())
		return error_set(
			error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
			"the directory %s belongs to uid %u, and a store has to be in one of uid %u",
			path, st.st_uid, geteuid());
	if (!(st.st_mode & 022))
		return 0;
	(void)error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                "others can write the directory %s, where the store is", path);
	error_mend(error, "chmod go-w %s", path);
	return YETT_E_SECURITY_VIOLATION;
}

/*
 * Refuses hard links, too: a file with two names would get two independent logs, which corrupts it
 * (sqlite.org/howtocorrupt.html, 2.5).
 */
static int check_file(const struct stat *st, const char *path, struct yett_error *error)
{
	if (S_ISLNK(st->st_mode))
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "%s is a symbolic link: name the store itself", path);
	if (!S_ISREG(st->st_mode))
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "%s is no regular file, and so no store of checkpoints", path);
	if (st->st_uid != geteuid())
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "the store %s belongs to uid %u, and not to uid %u", path,
		                 st->st_uid, geteuid());
	if (st->st_nlink > 1)
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "the store %s has another name, too, as a hard link: remove one",
		                 path);
	if (!(st->st_mode & 077))
		return 0;
	(void)error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                "others have access to the store %s (mode %o)", path, st->st_mode & 07777);
	error_mend(error, "chmod go= %s", path);
	return YETT_E_SECURITY_VIOLATION;
}

/*
 * SQLite opens its files beside a store by name and follows links. Refuse links there: they could
 * make SQLite write to other files.
 */
static int check_beside(int directory, const char *file, const char *path, struct yett_error *error)
{
	static const char *const ends[] = {"-wal", "-shm", "-journal"};
	char name[NAME_MAX + 1];
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		(void)snprintf(name, sizeof name, "%s%s", file, ends[i]);
		if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || st.st_nlink > 1)
			return error_set(
				error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
				"%s%s is a link, or another user's file: it cannot belong to a store",
				path, ends[i]);
	}
	return 0;
}

/*
 * Uses mknod(2) because it makes a file without opening it. The new entry needs no fsync: the first
 * write of SQLite beside it syncs the directory.
 */
static int find_file(int directory, const char *file, bool must_exist, const char *path,
                     struct yett_error *error)
{
	struct stat st;

	if (!must_exist && mknodat(directory, file, S_IFREG | 0600, 0) < 0 && errno != EEXIST)
		return location_failed(error, "make the store", path);
	if (fstatat(directory, file, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		int r = check_file(&st, path, error);

		return r ? r : check_beside(directory, file, path, error);
	}
	if (errno == ENOENT)
		return error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                 "there is no store of checkpoints at %s", path);
	return location_failed(error, "look at the store", path);
}

int location_find(const char *path, bool must_exist, char ret_path[static PATH_MAX],
                  struct yett_error *error)
{
	char directory[PATH_MAX], real[PATH_MAX], whole[PATH_MAX];
	const char *file = FILE_NAME;
	_cleanup_fd_ int fd = -1;
	int r = path ? location_split(path, directory, &file, error)
	             : location_default_directory(must_exist, directory, error);

	if (r)
		return r;
	if (!realpath(directory, real))
		return errno == ENOENT && must_exist
		               ? error_set(error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                           "there is no store of checkpoints at %s/%s", directory,
		                           file)
		               : location_failed(error, "find the directory", directory);
	if ((size_t)snprintf(whole, sizeof whole, "%s/%s", strcmp(real, "/") == 0 ? "" : real,
	                     file) >= sizeof whole)
		return too_long(error);
	fd = open(real, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return location_failed(error, "open the directory", real);
	r = location_check_directory(fd, real, error);
	if (r == 0)
		r = find_file(fd, file, must_exist, whole, error);
	if (r == 0)
		(void)strcpy(ret_path, whole);
	return r;
}
