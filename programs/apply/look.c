/* See apply.h. */
#include "programs/apply/apply.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/xattr.h>

#include "programs/apply/protect.h"

#define HANDLE_MAX 128 /* MAX_HANDLE_SZ */

/* What overlayfs writes into user.overlay.origin: which file was copied up. fs/overlayfs/overlayfs.h, struct ovl_fb */
struct noted {
	uint8_t version, magic, length, flags, type;
	uint8_t uuid[16];
	uint8_t id[HANDLE_MAX];
} __attribute__((packed));

#define NOTED_MAGIC 0xfb
#define NOTED_HEAD  offsetof(struct noted, id)

static void split(const char *path, char above[static PATH_MAX], const char **ret_name)
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
	};
	return 0;
}

/* Of a file handle, as far as two are to be told apart; never 0. */
static uint64_t sum_handle(unsigned type, const uint8_t *bytes, size_t length)
{
	uint64_t sum = 0xcbf29ce484222325 ^ type;

	for (size_t i = 0; i < length; i++)
		sum = (sum ^ bytes[i]) * 0x100000001b3;
	return sum ? sum : 1;
}

/* 0: the file system has none, or the file is not there. */
static uint64_t handle_of(int directory, const char *path)
{
	char bytes[sizeof(struct file_handle) + HANDLE_MAX];
	struct file_handle *handle = (struct file_handle *)bytes;
	_cleanup_fd_ int fd = read_open(directory, path, O_PATH);
	int mount;

	handle->handle_bytes = HANDLE_MAX;
	if (fd < 0 || name_to_handle_at(fd, "", handle, &mount, AT_EMPTY_PATH) < 0)
		return 0;
	return sum_handle((unsigned)handle->handle_type, handle->f_handle, handle->handle_bytes);
}

/* The file of the source that one in the store is a copy of; 0: that is not noted. Links have no such note. */
static uint64_t noted_of(int upper, const char *path)
{
	_cleanup_fd_ int fd = read_open(upper, path, O_RDONLY);
	struct noted noted;
	ssize_t n = fd < 0 ? -1 : fgetxattr(fd, "user.overlay.origin", &noted, sizeof noted);

	if (n < (ssize_t)NOTED_HEAD || noted.magic != NOTED_MAGIC || noted.length != n)
		return 0;
	return sum_handle(noted.type, noted.id, (size_t)n - NOTED_HEAD);
}

static int layer_of(const struct apply *apply, const struct item *item)
{
	(void)item;
	return apply->diff.upper;
}

/* Whether a directory on the way was another one when the sandbox was made: nothing below it is what the sandbox was given. */
static bool is_way_other(const struct apply *apply, const char *path)
{
	char way[PATH_MAX];

	(void)snprintf(way, sizeof way, "%s", path);
	for (char *slash = way; (slash = strchr(slash, '/')); *slash++ = '/') {
		uint64_t noted, now;

		*slash = '\0';
		noted = noted_of(apply->diff.upper, way);
		now = noted ? handle_of(apply->source, way) : 0;
		if (now && now != noted)
			return true;
	}
	return false;
}

/* Whether what the sandbox copied is no longer there: not where it has only been renamed inside. */
static bool is_gone(struct apply *apply, const struct item *item)
{
	uint64_t noted = noted_of(layer_of(apply, item), item->path);
	char above[PATH_MAX];
	const char *name;
	struct ident ident;

	if (!noted)
		return false;
	split(item->path, above, &name);
	if (!apply->is_clock_doubtful && look_at(apply->source, above, &ident) == 0 && ident.mode &&
	    ident.ctime_ns < (int64_t)apply->origin.stamp_ns)
		return false; /* no name there has come or gone */
	for (size_t i = 0; i < apply->item_count; i++) {
		struct item *other = &apply->items[i];

		if (other->old.mode && !other->handle)
			other->handle = handle_of(apply->source, other->path);
		if (other->handle == noted)
			return false;
	}
	return true;
}

static bool is_named(const struct apply *apply, const char *path)
{
	for (size_t i = 0; i < apply->diff.wanted_count; i++)
		if (strcmp(apply->diff.wanted[i], path) == 0)
			return true;
	return false;
}

static bool has_name(const struct apply *apply, const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL;
	struct ident ident;

	if (asprintf(&path, "%s%s%s", directory, *directory ? "/" : "", name) < 0)
		return true; /* in doubt */
	return (look_at(apply->source, path, &ident) == 0 && ident.mode) ||
	       (look_at(apply->diff.upper, path, &ident) == 0 && ident.mode && !S_ISCHR(ident.mode));
}

/* git-rev-parse(1) and gitrepository-layout(5): a HEAD, and objects and refs, or where those are */
static bool is_repository(void *context, const char *directory)
{
	return has_name(context, directory, "HEAD") &&
	       ((has_name(context, directory, "objects") && has_name(context, directory, "refs")) || has_name(context, directory, "commondir"));
}

static bool is_applied_kind(uint32_t mode)
{
	return !mode || S_ISREG(mode) || S_ISDIR(mode) || S_ISLNK(mode);
}

/* What can be told without the source. */
static const char *reason_to_leave(struct apply *apply, const struct item *item)
{
	_cleanup_fd_ int fd = -1;

	if (!is_applied_kind(item->old.mode) || !is_applied_kind(item->new_mode))
		return "is, or was, no file, directory or link";
	if (strncmp(item->path, STAGE_NAME, strlen(STAGE_NAME)) == 0)
		return "has a name that yett apply itself uses";
	if (S_ISREG(item->new_mode) && !item->same_content) {
		fd = read_open(layer_of(apply, item), item->path, O_RDONLY);
		if (fd < 0)
			return fd == -EACCES ? "cannot be read: its mode in the store does not let its owner" : "cannot be read";
	}
	return NULL;
}

static int look_at_item(struct apply *apply, struct item *item)
{
	uint32_t expected = item->old.mode;
	struct facts facts = {.stamp_ns = apply->origin.stamp_ns, .is_clock_doubtful = apply->is_clock_doubtful};
	int r = look_at(apply->source, item->path, &item->old);
	uint64_t noted;

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
	noted = expected && (item->old.mode & S_IFMT) == (item->new_mode & S_IFMT) ? noted_of(layer_of(apply, item), item->path) : 0;
	facts.old_mode = item->old.mode;
	facts.ctime_ns = item->old.ctime_ns;
	facts.is_own = record_is_own(apply, item->path, &item->old);
	facts.is_other = (noted && (item->handle = handle_of(apply->source, item->path)) && item->handle != noted) ||
	                 (expected && is_way_other(apply, item->path));
	facts.is_gone = !expected && item->new_mode && is_gone(apply, item);
	facts.only_goes = S_ISDIR(item->old.mode) && !S_ISDIR(item->new_mode);
	item->left = apply->is_forced ? NULL : plan_conflict(&facts);
	item->is_conflict = item->left != NULL;
	return 0;
}

int look(struct apply *apply)
{
	for (size_t i = 0; i < apply->item_count; i++) {
		struct item *item = &apply->items[i];
		int r;

		item->is_protected = protect(item->path, S_ISDIR(item->new_mode ? item->new_mode : item->old.mode), is_repository, apply);
		item->left = reason_to_leave(apply, item);
		if (!item->left && item->is_protected && !apply->is_asking && !is_named(apply, item->path))
			item->left = "is protected: name it to have it applied";
		r = item->left ? 0 : look_at_item(apply, item);
		if (r < 0) {
			note(&apply->diff, item->path, strerror(-r));
			return r;
		}
	}
	plan_leave(apply->items, apply->item_count);
	return 0;
}
