/* SPDX-License-Identifier: Apache-2.0 */
/* See apply.h. */
#include "workspace/apply/apply.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/entries.h"

const char look_protected[] = "is protected: name it to have it applied";

static void look_split(const char *path, char above[static PATH_MAX], const char **ret_name)
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(above, PATH_MAX, "%.*s", (int)(slash ? slash - path : 0), path);
	*ret_name = slash ? slash + 1 : path;
}

static int64_t to_ns(const struct timespec *time)
{
	return (int64_t)time->tv_sec * 1000000000 + time->tv_nsec;
}

int look_at(int directory, const char *path, struct ident *ret_ident)
{
	_cleanup_fd_ int fd = read_open(directory, path, O_PATH);
	struct stat st;

	*ret_ident = (struct ident){0};
	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return fd < 0 ? fd : -errno;
	*ret_ident = (struct ident){
		.inode = st.st_ino,
		.size = (uint64_t)st.st_size,
		.mtime_ns = to_ns(&st.st_mtim),
		.ctime_ns = to_ns(&st.st_ctim),
		.mode = st.st_mode,
		.links = (uint32_t)st.st_nlink,
	};
	return 0;
}

static int look_layer_of(const struct apply *apply, const struct item *item)
{
	return apply->diff.layers[item->change->layer];
}

/*
 * Whether the file is a copy of a file of the source or of another layer, changed or renamed.
 * overlayfs.rst, "Inode properties"
 */
static bool is_copied(int layer, const char *path)
{
	_cleanup_fd_ int fd = read_open(layer, path, O_RDONLY);

	return fd >= 0 && fgetxattr(fd, "user.overlay.origin", NULL, 0) >= 0;
}

static bool is_since(const struct apply *apply, int64_t time_ns)
{
	return apply->is_clock_doubtful || time_ns >= (int64_t)apply->origin.stamp_ns;
}

/*
 * Whether a directory above the path was moved to its place, with its contents, since the store was
 * made. Such a move changes the directory's ctime, but not its mtime. A directory that was moved
 * and then changed inside cannot be distinguished from one that is only in use.
 */
static bool is_way_new(const struct apply *apply, const char *path)
{
	char way[PATH_MAX];

	(void)snprintf(way, sizeof way, "%s", path);
	for (char *slash = way; (slash = strchr(slash, '/')); *slash++ = '/') {
		uint8_t *known = &apply->ways->known[slash - way];
		struct ident now;

		*slash = '\0';
		if (!(*known & WAY_LOOKED_NEW) && look_at(apply->source, way, &now) == 0 &&
		    now.mode && is_since(apply, now.ctime_ns) && !is_since(apply, now.mtime_ns) &&
		    !record_is_own(apply, way, &now))
			*known |= WAY_NEW;
		*known |= WAY_LOOKED_NEW;
		if (*known & WAY_NEW)
			return true;
	}
	return false;
}

/*
 * Whether the source no longer has the file that the sandbox copied and changed. If no name was
 * added or removed outside in its directory, the file was only renamed inside.
 */
static bool look_is_gone(struct apply *apply, const struct item *item)
{
	char above[PATH_MAX];
	const char *name;
	struct ident ident;

	if (!S_ISREG(item->new_mode) || !is_copied(look_layer_of(apply, item), item->path))
		return false;
	look_split(item->path, above, &name);
	return look_at(apply->source, above, &ident) == 0 && ident.mode &&
	       is_since(apply, ident.mtime_ns) && !record_is_own(apply, above, &ident);
}

/* Whether the path, or a directory above it, was hidden from the sandbox. */
static bool look_is_hidden(const struct apply *apply, const char *path)
{
	char way[PATH_MAX];
	bool is_last;

	(void)snprintf(way, sizeof way, "%s", path);
	for (char *slash = way; apply->diff.hidden >= 0; *slash++ = '/') {
		struct ident now;

		slash += strcspn(slash, "/");
		is_last = !*slash;
		*slash = '\0';
		if (look_at(apply->diff.hidden, way, &now) == 0 && S_ISCHR(now.mode))
			return true;
		if (is_last || !now.mode)
			break;
	}
	return false;
}

/*
 * Whether a wanted path names the item or, if the item is a directory to be made, something in it.
 */
static bool look_is_named(const struct apply *apply, const struct item *item)
{
	size_t length = strlen(item->path);

	for (size_t i = 0; i < apply->diff.wanted_count; i++) {
		const char *wanted = apply->diff.wanted[i];

		if (strncmp(wanted, item->path, length) == 0 &&
		    (!wanted[length] ||
		     (wanted[length] == '/' && !item->old.mode && S_ISDIR(item->new_mode))))
			return true;
	}
	return false;
}

static bool is_applied_kind(uint32_t mode)
{
	return !mode || S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
}

/* Whether the parent directory exists in the source, or is an item itself. */
static bool is_way_there(const struct apply *apply, const char *path)
{
	char above[PATH_MAX];
	const char *name;
	struct ident now;

	look_split(path, above, &name);
	if (look_at(apply->source, above, &now) == 0 && S_ISDIR(now.mode))
		return true;
	return plan_find(apply->items, apply->item_count, above) != NULL;
}

/*
 * Returns why the change is not applied, for causes other than a change of the file outside. NULL:
 * there is no such cause.
 */
static const char *reason_to_leave(struct apply *apply, const struct item *item)
{
	if (!is_applied_kind(item->old.mode) || !is_applied_kind(item->new_mode))
		return "is, or was, no file, directory or link";
	if (strncmp(item->path, STAGE_NAME, strlen(STAGE_NAME)) == 0)
		return "has a name that yett apply itself uses";
	if (!is_way_there(apply, item->path))
		return "its parent is not a directory in the source: name the parent, too";
	return NULL;
}

static const char *reason_not_read(struct apply *apply, const struct item *item)
{
	_cleanup_fd_ int fd = -1;

	if (!S_ISREG(item->new_mode) || !plan_has_content(item))
		return NULL;
	fd = read_open(look_layer_of(apply, item), item->path, O_RDONLY);
	return fd >= 0         ? NULL
	       : fd == -EACCES ? "cannot be read: its mode in the store does not let its owner"
	                       : "cannot be read";
}

/*
 * Whether a directory of the source has a name that is no item: the walk skips hidden names. True
 * if it cannot be read, to be safe.
 */
static bool holds_other(struct apply *apply, const char *path)
{
	_cleanup_fd_ int fd = read_open(apply->source, path, O_RDONLY | O_DIRECTORY);
	_cleanup_(fd_entries_close) DIR *entries = fd < 0 ? NULL : fd_entries(fd);
	const struct dirent *entry;
	int r = entries ? 0 : -errno;

	while (r == 0 && (r = entries_next(entries, &entry)) == 0 && entry) {
		_cleanup_free_ char *below = NULL;

		if (asprintf(&below, "%s/%s", path, entry->d_name) < 0 ||
		    !plan_find(apply->items, apply->item_count, below))
			return true;
	}
	return r < 0;
}

static int look_at_item(struct apply *apply, struct item *item)
{
	uint32_t expected = item->old.mode;
	struct facts facts = {.stamp_ns = apply->origin.stamp_ns,
	                      .is_clock_doubtful = apply->is_clock_doubtful};
	int r = look_at(apply->source, item->path, &item->old);

	if (r < 0)
		return r;
	if (item->old.mode != expected) {
		item->is_conflict = true;
		item->left = "changes right now";
		return 0;
	}
	if (item->same_content && plan_mode(item->old.mode, item->new_mode) == item->old.mode) {
		item->left = "differs only in set-id or sticky bits, which are not taken over";
		return 0;
	}
	item->left = reason_not_read(apply, item);
	if (item->left)
		return 0;
	facts.old_mode = item->old.mode;
	facts.ctime_ns = item->old.ctime_ns;
	facts.is_own = record_is_own(apply, item->path, &item->old);
	facts.is_hidden = expected && look_is_hidden(apply, item->path);
	facts.is_moved = expected && is_way_new(apply, item->path);
	facts.is_gone = !expected && look_is_gone(apply, item);
	facts.only_goes = S_ISDIR(item->old.mode) && !S_ISDIR(item->new_mode);
	item->left = apply->is_forced ? NULL : plan_conflict(&facts);
	item->is_conflict = item->left != NULL;
	if (!item->left && facts.only_goes &&
	    holds_other(apply, item->path)) /* rmdir would fail, and the whole apply */
		item->left = "something in it was hidden from the sandbox, or cannot be read";
	return 0;
}

/*
 * Whether a protected item is applied although no path names it. With --include-protected: all
 * except git's own files. When asking: only a protected file itself, because a protected directory
 * may have thousands of files.
 */
static bool is_taken_unnamed(const struct apply *apply, const struct item *item)
{
	if (apply->takes_protected && !item->guard.is_gits_own)
		return true;
	return apply->is_asking && !item->path[item->guard.length] &&
	       !S_ISDIR(item->new_mode ? item->new_mode : item->old.mode);
}

int look(struct apply *apply)
{
	struct ways ways;

	ways_begin(&ways, &apply->diff);
	apply->ways = &ways;
	for (size_t i = 0; i < apply->item_count; i++) {
		struct item *item = &apply->items[i];
		int r;

		ways_turn_to(&ways, item->path);
		item->guard = ways_guard(&ways, item->old.mode, item->new_mode);
		item->left = reason_to_leave(apply, item);
		if (!item->left && item->guard.why && !look_is_named(apply, item) &&
		    !is_taken_unnamed(apply, item))
			item->left = look_protected;
		r = item->left ? 0 : look_at_item(apply, item);
		if (r < 0) {
			note(&apply->diff, item->path, strerror(-r));
			return r;
		}
	}
	apply->ways = NULL;
	plan_leave(apply->items, apply->item_count);
	return 0;
}
