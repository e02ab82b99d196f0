/* SPDX-License-Identifier: Apache-2.0 */
/* See guard.h, and "guards" in yett.h. */
#include "libclient/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "base/fd.h"
#include "base/fd_path.h"
#include "base/own_place.h"
#include "base/failure.h"
#include "base/home.h"
#include "libclient/listing.h"
#include "base/memory.h"

#define WHY_LISTED "a list of guarded paths names this"

/*
 * A guarded path, absolute. Symbolic links are resolved, except with GUARD_LINK and GUARD_CLOSED. A
 * path with GUARD_CLOSED possibly does not exist.
 */
struct guarded {
	char *path;
	enum guard_kind kind;
	const char *why;
};

/* A leading part of a path, and the file there; `st` is all zeros if there is none. */
struct prefix {
	char *path;
	struct stat st;
};

struct guards {
	struct list *all, *prefixes; /* of struct guarded, of struct prefix */
	const char *const *hidden,
		*const *read_only; /* lists of the administrator and the caller */
	int failed;                /* the first -errno, with which the request fails; 0: none */
	char failed_at[PATH_MAX];
};

static void guards_end(struct guards *guards)
{
	yett_free(guards->all);
	yett_free(guards->prefixes);
	yett_free((void *)guards->hidden);
	yett_free((void *)guards->read_only);
}

static void guards_fail(struct guards *guards, int r, const char *path)
{
	if (guards->failed)
		return;
	guards->failed = r;
	(void)snprintf(guards->failed_at, sizeof guards->failed_at, "%s", path);
}

static int guards_result(const struct guards *guards, struct yett_error *error)
{
	if (!guards->failed)
		return 0;
	errno = -guards->failed;
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
	                   "cannot guard %s in what is shared: %m", ESCAPE(guards->failed_at));
}

static int libclient_guard_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                 "no memory for the guarded paths of the shares");
}

/* Adds to the list a zeroed element of `size` bytes that begins with its path. NULL: no memory. */
static void *guards_append(struct guards *guards, struct list *list, size_t size, const char *path)
{
	char **element = memory_new(size);

	if (element && !(*element = memory_add_text(element, path))) {
		yett_free(element);
		element = NULL;
	}
	if (element && list_add(list, element))
		return element;
	guards_fail(guards, -ENOMEM, path);
	return NULL;
}

static void guards_add(struct guards *guards, enum guard_kind kind, const char *why,
                       const char *path)
{
	struct guarded *guarded = guards_append(guards, guards->all, sizeof *guarded, path);

	if (guarded) {
		guarded->kind = kind;
		guarded->why = why;
	}
}

/*
 * Called if `name` is below a directory that the caller may not search. Returns whether the caller
 * owns that directory. An owner can make the directory searchable again with chmod(2), and so can a
 * command in a writable share. A directory of another user stays closed to both.
 */
static bool guards_is_own_closed(int at, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	bool is_own = fstat(at, &st) < 0 || st.st_uid == geteuid();

	for (const char *slash = strchr(name + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(path, sizeof path, "%.*s", (int)(slash - name), name);
		if (fstatat(at, path, &st, AT_NO_AUTOMOUNT) < 0)
			return is_own;
		is_own = st.st_uid == geteuid();
	}
	return is_own;
}

/*
 * Opens a guarded path, `name`, which is relative to the top of a share. Follows no symbolic link,
 * since a command may be able to write to the share. Returns a descriptor or -errno.
 */
static int guards_open_top(int at, const char *name)
{
	int fd = -1, next;

	do {
		size_t length = strcspn(name, "/");
		char component[NAME_MAX + 1];

		(void)snprintf(component, sizeof component, "%.*s", (int)length, name);
		next = openat(fd < 0 ? at : fd, component,
		              O_PATH | O_NOFOLLOW | O_CLOEXEC | (name[length] ? O_DIRECTORY : 0));
		next = next < 0 ? -errno : next;
		fd_close(fd);
		fd = next;
		name += length + (name[length] == '/');
	} while (fd >= 0 && *name);
	return fd;
}

/*
 * Opens a guarded path relative to `at`. Avoids openat2(2), which valgrind and older seccomp
 * filters do not know. Returns a descriptor or -errno.
 */
static int guards_open(int at, const char *name, enum guard_kind kind)
{
	int fd;

	if (kind == GUARD_READ_ONLY_TOP)
		return guards_open_top(at, name);
	fd = openat(at, name, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Makes the absolute path of `name` relative to `at`. Keeps symbolic links in `name`. */
static int guards_path(int at, const char *name, char path[PATH_MAX])
{
	size_t length = 0;
	int r;

	if (name[0] != '/') {
		r = fd_path(at, path);
		if (r < 0)
			return r;
		length = strlen(path);
	}
	r = snprintf(path + length, PATH_MAX - length, "%s%s", length > 1 ? "/" : "", name);
	return (size_t)r < PATH_MAX - length ? 0 : -ENAMETOOLONG;
}

/*
 * Adds `name` if it exists. ".git" at the top of a share counts only if it is a file, as in a
 * worktree: for a directory ".git" the table names the parts that git obeys. If the caller has
 * closed a directory above `name` to itself, adds `name` as GUARD_CLOSED, since a command in a
 * writable share could open that directory again. A secret behind a symbolic link is added a second
 * time as GUARD_LINK, since a command could replace the link.
 */
static void guards_find(struct guards *guards, int at, const char *name, enum guard_kind kind,
                        const char *why)
{
	_cleanup_fd_ int fd = guards_open(at, name, kind);
	char path[PATH_MAX], named[PATH_MAX];
	struct stat st;
	bool is_closed;
	int r = fd;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ||
	    (fd == -EACCES && !guards_is_own_closed(at, name)))
		return;
	if (fd >= 0)
		r = fstat(fd, &st) < 0 ? -errno : fd_path(fd, path);
	is_closed = r == -EACCES;
	if (r == 0 || is_closed)
		r = guards_path(at, name, named);
	if (r < 0) {
		guards_fail(guards, r, name);
		return;
	}
	if (is_closed)
		guards_add(guards, GUARD_CLOSED, why, named);
	else if (kind != GUARD_READ_ONLY_TOP ||
	         (!S_ISLNK(st.st_mode) && !(strcmp(name, ".git") == 0 && S_ISDIR(st.st_mode))))
		guards_add(guards, kind, why, path);
	if (!is_closed && kind == GUARD_HIDDEN && strcmp(path, named) != 0)
		guards_add(guards, GUARD_LINK, why, named);
}

/* Adds every path of `kind` relative to the directory `at`. A listed name that begins with "./" is
 * relative to the top of a share. */
static void guards_find_all(struct guards *guards, int at, enum guard_kind kind,
                            struct listing **listings)
{
	const char *const *listed = kind == GUARD_HIDDEN ? guards->hidden : guards->read_only;

	for (const struct guard_class *class = guard_classes; class->why; class ++)
		for (size_t i = 0; class->kind == kind && class->names[i]; i++)
			if (listing_may_have(listings, at, class->names[i]))
				guards_find(guards, at, class->names[i], kind, class->why);
	for (size_t i = 0; listed[i]; i++) {
		bool is_top = strncmp(listed[i], "./", 2) == 0;

		if (is_top == (kind == GUARD_READ_ONLY_TOP))
			guards_find(guards, at,
			            listed[i] +
			                    (is_top || strncmp(listed[i], "~/", 2) == 0 ? 2 : 0),
			            kind, WHY_LISTED);
	}
}

static void guards_find_top(struct guards *guards, int share)
{
	_cleanup_(listings_free) struct listing *listings = NULL;

	guards_find_all(guards, share, GUARD_READ_ONLY_TOP, &listings);
}

static void guards_find_home(struct guards *guards, const char *home, bool is_written)
{
	_cleanup_(listings_free) struct listing *listings = NULL;
	_cleanup_fd_ int at = open(home, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (at < 0) {
		if (errno != ENOENT && errno != ENOTDIR && errno != EACCES)
			guards_fail(guards, -errno, home);
		return;
	}
	guards_find_all(guards, at, GUARD_HIDDEN, &listings);
	if (is_written)
		guards_find_all(guards, at, GUARD_READ_ONLY, &listings);
}

/*
 * ssh(1) uses the home directory of the user database, most programs use $HOME: guard both. `state`
 * is the directory of stores and sessions, as share_fds has it.
 */
static int guards_begin(struct guards *guards, const char *state, bool is_written,
                        struct yett_error *error)
{
	const char *named = secure_getenv("HOME"), *config = secure_getenv("XDG_CONFIG_HOME");
	char home[HOME_PATH_SIZE], own[HOME_PATH_SIZE];
	int r;

	*guards = (struct guards){.all = memory_new(sizeof *guards->all),
	                          .prefixes = memory_new(sizeof *guards->prefixes)};
	if (!guards->all || !guards->prefixes)
		return libclient_guard_no_memory(error);
	r = guard_read_lists(&guards->hidden, &guards->read_only, error);
	if (r)
		return r;
	if (home_find(home, sizeof home, NULL) == 0)
		guards_find_home(guards, home, is_written);
	else
		home[0] = '\0';
	if (named && named[0] == '/' && strcmp(named, home) != 0)
		guards_find_home(guards, named, is_written);
	/* yett-agent reads there what agents may do. */
	if (config && config[0] == '/') {
		(void)snprintf(own, sizeof own, "%s/yett", config);
		guards_find(guards, AT_FDCWD, own, GUARD_HIDDEN, "");
	}
	if (*state) {
		/* Drop the slash at the end. */
		(void)snprintf(own, sizeof own, "%.*s", (int)strlen(state) - 1, state);
		guards_find(guards, AT_FDCWD, own, GUARD_HIDDEN, "");
	}
	return guards_result(guards, error);
}

/* --- where a guarded path is in a share --- */

/* Returns the entry of path[0 … length), for which stat(2) is called only once. NULL: no memory. */
static const struct prefix *guards_prefix(struct guards *guards, const char *path, size_t length)
{
	char copy[PATH_MAX];
	struct prefix *prefix;

	for (size_t i = 0; i < guards->prefixes->count; i++) {
		prefix = guards->prefixes->items[i];
		if (strncmp(prefix->path, path, length) == 0 && !prefix->path[length])
			return prefix;
	}
	(void)snprintf(copy, sizeof copy, "%.*s", (int)length, path);
	prefix = guards_append(guards, guards->prefixes, sizeof *prefix, copy);
	if (!prefix)
		return NULL;
	if (fstatat(AT_FDCWD, prefix->path, &prefix->st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0)
		prefix->st = (struct stat){.st_ino = 0};
	return prefix;
}

/*
 * The part of an absolute path below the directory `top`: "" for the directory itself, NULL where
 * the path does not go through it. Directories are compared by device and inode, so that a bind
 * mount of one has the same guards.
 */
static const char *guards_below(struct guards *guards, const char *path, const struct stat *top)
{
	size_t length = strlen(path);

	for (;;) {
		const struct prefix *prefix = guards_prefix(guards, path, length ? length : 1);

		if (prefix && fd_same_file(&prefix->st, top))
			return path + length + (path[length] == '/');
		if (length == 0)
			return NULL;
		do
			length--;
		while (length > 0 && path[length] != '/');
	}
}

/* --- in a request --- */

static bool is_strictly_below(const char *path, const char *directory)
{
	return own_place_is_below(path, directory) && strcmp(path, directory) != 0;
}

/* Whether a mount of the request, other than its share, is at the path or above it. */
static bool guard_is_mounted(const struct channel *channel, const struct share_fds *fds,
                             const char *target, const char *path)
{
	const struct message *message = &channel->message;
	const struct message_create *create = &message->body.create;

	for (size_t i = 0; i < fds->count; i++)
		if (is_strictly_below(fds->targets[i], target) &&
		    own_place_is_below(path, fds->targets[i]))
			return true;
	for (uint32_t i = 0; i < create->tmpfs_count; i++) {
		const char *other = message_text(message, create->tmpfs[i].target);

		if (other && is_strictly_below(other, target) && own_place_is_below(path, other))
			return true;
	}
	return false;
}

/* A share inside a hidden directory would be hidden with it. */
static int guard_check_inside(const struct share_fds *fds, const char *path,
                              struct yett_error *error)
{
	for (size_t i = 0; i < fds->count; i++) {
		if (!is_strictly_below(fds->targets[i], path))
			continue;
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                "nothing can be shared at %s: %s is hidden there",
		                ESCAPE(fds->targets[i]), ESCAPE(path));
		error_mend(error, "choose another target, such as /mnt/NAME, or share %s itself",
		           path);
		return YETT_E_INVALID_REQUEST;
	}
	return 0;
}

static int guard_put_path(struct channel *channel, bool is_hidden, const char *path,
                          struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	struct text *list = is_hidden ? create->masks : create->read_only;
	uint32_t *count = is_hidden ? &create->masks_count : &create->read_only_count;

	for (uint32_t i = 0; i < *count; i++) {
		const char *other = message_text(&channel->message, list[i]);

		if (other && strcmp(other, path) == 0)
			return 0;
	}
	if (*count == MESSAGE_COVERS_MAX) {
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
		                "the shares contain more than %d guarded paths to make %s: %.200s",
		                MESSAGE_COVERS_MAX, is_hidden ? "hidden" : "read-only",
		                ESCAPE(path));
		error_mend(error, "share fewer or smaller directories");
		return YETT_E_INVALID_REQUEST;
	}
	return channel_put_text(channel, path, MESSAGE_PATH_MAX, "a guarded path",
	                        &list[(*count)++], error);
}

/* Refuses a share in which a command could undo the guard of `path`. */
static int guard_refuse(enum guard_kind kind, const char *path, const char *share,
                        struct yett_error *error)
{
	if (kind == GUARD_CLOSED) {
		(void)error_set(
			error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
			"cannot share %s: a directory above %s is closed to its owner, so what is there cannot be guarded",
			ESCAPE(share), ESCAPE(path));
		error_mend(error, "chmod u+x that directory, or share a smaller one");
		return YETT_E_FILE_OPERATION_FAILED;
	}
	(void)error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"cannot share %s for writing: a symbolic link in it leads to the secret %s, and a command could replace the link",
		ESCAPE(share), ESCAPE(path));
	error_mend(error, "share it read-only or copy-on-write, or share a smaller directory");
	return YETT_E_INVALID_REQUEST;
}

static int guard_put_one(struct channel *channel, const struct share_fds *fds, size_t i,
                         const struct guarded *guarded, const char *rest, struct yett_error *error)
{
	const char *target = fds->targets[i];
	bool is_hidden = guarded->kind == GUARD_HIDDEN;
	_cleanup_free_ char *path = NULL;
	int r;

	if (guarded->kind == GUARD_CLOSED || guarded->kind == GUARD_LINK)
		return guard_refuse(guarded->kind, guarded->path, target, error);
	if (asprintf(&path, "%s/%s", strcmp(target, "/") == 0 ? "" : target, rest) < 0)
		return libclient_guard_no_memory(error);
	if (guard_is_mounted(channel, fds, target, path))
		return 0;
	/*
	 * A plan accepts no control characters in a path. Only the target of a symbolic link can
	 * have some here.
	 */
	for (const char *at = path; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return is_hidden ? guard_refuse(GUARD_LINK, path, target, error) : 0;
	r = is_hidden ? guard_check_inside(fds, path, error) : 0;
	return r ? r : guard_put_path(channel, is_hidden, path, error);
}

static int guard_put_share(struct channel *channel, const struct share_fds *fds, size_t i,
                           struct guards *guards, struct yett_error *error)
{
	bool is_written = channel->message.body.create.shares[i].mode == SHARE_RW;
	size_t before = guards->all->count;
	struct stat st;
	int r = 0;

	if (fstat(fds->fds[i], &st) < 0)
		return shares_cannot(fds->targets[i], error);
	if (!S_ISDIR(st.st_mode))
		return 0;
	/* memory_dir, the last share, holds notes for later sandboxes: no program obeys them. */
	if (is_written && !(fds->has_memory && i == fds->count - 1))
		guards_find_top(guards, fds->fds[i]);
	for (size_t j = 0; r == 0 && j < guards->all->count; j++) {
		const struct guarded *guarded = guards->all->items[j];
		const char *rest = NULL;

		if (is_written || guarded->kind == GUARD_HIDDEN || guarded->kind == GUARD_CLOSED)
			rest = guards_below(guards, guarded->path, &st);
		if (rest && *rest)
			r = guard_put_one(channel, fds, i, guarded, rest, error);
	}
	guards->all->count = before;
	return r ? r : guards_result(guards, error);
}

/*
 * Returns whether a share of this mode can contain files of the user's. A store has only what
 * commands changed.
 */
static bool guard_can_hold(uint32_t mode)
{
	return mode != SHARE_SOCKET && mode != SHARE_STORE;
}

int guard_put(struct channel *channel, const struct share_fds *fds, struct yett_error *error)
{
	const struct message_create *create = &channel->message.body.create;
	_cleanup_(guards_end) struct guards guards = {.failed = 0};
	bool is_shared = false, is_written = false;
	int r;

	for (size_t i = 0; i < fds->count; i++) {
		is_written = is_written || create->shares[i].mode == SHARE_RW;
		is_shared = is_shared || guard_can_hold(create->shares[i].mode);
	}
	r = is_shared ? guards_begin(&guards, fds->state, is_written, error) : 0;
	for (size_t i = 0; r == 0 && i < fds->count; i++)
		if (guard_can_hold(create->shares[i].mode))
			r = guard_put_share(channel, fds, i, &guards, error);
	return r;
}

/*
 * A directory that contains a top-level guarded path is guarded too: shared alone, it would be the
 * top, and the path would no longer match. The share itself is exempt.
 */
int yett_guard_of(int share, int fd, enum yett_guard *ret_guard, const char **ret_why,
                  struct yett_error *error)
{
	_cleanup_(guards_end) struct guards guards = {.failed = 0};
	enum yett_guard found = YETT_GUARD_NONE;
	const char *why = "";
	struct stat top, st, guarded_st;
	char path[PATH_MAX];
	int r = guards_begin(&guards, "", true, error);

	if (r)
		return r;
	if (fstat(share, &top) < 0 || fstat(fd, &st) < 0)
		return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
		                   "cannot look at what is to be shared: %m");
	if (fd_path(fd, path) < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the shared file has no path");
	guards_find_top(&guards, share);
	for (size_t i = 0; i < guards.all->count && found != YETT_GUARD_HIDDEN; i++) {
		const struct guarded *guarded = guards.all->items[i];
		bool is_inside = stat(guarded->path, &guarded_st) == 0 &&
		                 guards_below(&guards, path, &guarded_st);

		if (!is_inside &&
		    (guarded->kind != GUARD_READ_ONLY_TOP || fd_same_file(&top, &st) ||
		     !guards_below(&guards, guarded->path, &st)))
			continue;
		found = guarded->kind == GUARD_HIDDEN || guarded->kind == GUARD_LINK
		                ? YETT_GUARD_HIDDEN
		                : YETT_GUARD_READ_ONLY;
		why = guarded->why;
	}
	r = guards_result(&guards, error);
	if (r)
		return r;
	*ret_guard = found;
	*ret_why = why;
	return 0;
}
