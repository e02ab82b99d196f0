/* See work_layers.h. */
#include "libclient/work_layers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/escape.h"
#include "libclient/failure.h"
#include "libclient/sandbox.h"
#include "libclient/work.h"
#include "libclient/work_copy.h"

#define NAMES     "snapshots" /* a directory of symbolic links, each called as a snapshot, and to "LAYER CREATED", which no program follows */
#define NAME_NEW  ".new"
#define LINK_SIZE 64

#define FRESH   "fresh"   /* what is to become a layer, in the store */
#define DROPPED "dropped" /* what was one */

void layers_number(unsigned layer, char name[static LAYERS_NUMBER_SIZE])
{
	(void)snprintf(name, LAYERS_NUMBER_SIZE, "%u", layer);
}

/* Without links; its owner may do with it what it takes to move it. */
static int open_layer(const struct layers *layers, unsigned layer, int flags)
{
	char name[LAYERS_NUMBER_SIZE];

	layers_number(layer, name);
	return layers->directory < 0 ? -ENOENT : work_open_own(layers->directory, name, flags);
}

/* What is none of ours is passed over. */
static bool read_name(int directory, const char *name, struct layers_name *ret_entry)
{
	char text[LINK_SIZE];
	unsigned long long layer, created;
	int end = 0;
	ssize_t n = sandbox_is_name(name) && strlen(name) < LAYERS_NAME_SIZE ? readlinkat(directory, name, text, sizeof text - 1) : -1;

	text[n < 0 ? 0 : n] = '\0';
	if (n <= 0 || n == sizeof text - 1 || sscanf(text, "%llu %llu%n", &layer, &created, &end) != 2 || text[end] || layer > UINT16_MAX)
		return false;
	*ret_entry = (struct layers_name){.layer = (unsigned)layer, .created_ms = created};
	(void)strcpy(ret_entry->name, name);
	return true;
}

/* Those of layers that are there; others are of one that was killed while it cut, and go where `is_cleaned`. 0 or -errno. */
static int read_names(struct layers *layers, bool is_cleaned)
{
	_cleanup_fd_ int directory = work_open_own(layers->store, NAMES, O_RDONLY | O_DIRECTORY);
	DIR *opened = directory < 0 ? NULL : fd_entries(directory);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;

	if (directory < 0)
		return directory == -ENOENT ? 0 : directory;
	if (!opened)
		return -errno;
	layers->names_count = 0;
	while ((entry = readdir(entries))) {
		struct layers_name name;

		if (!read_name(directory, entry->d_name, &name))
			continue;
		if (name.layer <= layers->count && layers->names_count < LAYERS_NAMES_MAX)
			layers->names[layers->names_count++] = name;
		else if (name.layer > layers->count && is_cleaned && unlinkat(directory, entry->d_name, 0) < 0)
			return -errno;
	}
	return 0;
}

int layers_set_name(const struct layers *layers, const struct layers_name *name)
{
	_cleanup_fd_ int directory = -1;
	char text[LINK_SIZE];

	if (mkdirat(layers->store, NAMES, 0700) < 0 && errno != EEXIST)
		return -errno;
	directory = work_open_own(layers->store, NAMES, O_RDONLY | O_DIRECTORY);
	if (directory < 0)
		return directory;
	(void)snprintf(text, sizeof text, "%u %llu", name->layer, (unsigned long long)name->created_ms);
	(void)unlinkat(directory, NAME_NEW, 0); /* of one that was killed */
	return symlinkat(text, directory, NAME_NEW) < 0 || renameat(directory, NAME_NEW, directory, name->name) < 0 ? -errno : 0;
}

int layers_forget_name(const struct layers *layers, const char *name)
{
	_cleanup_fd_ int directory = work_open_own(layers->store, NAMES, O_RDONLY | O_DIRECTORY);

	if (directory < 0)
		return directory;
	return unlinkat(directory, name, 0) < 0 ? -errno : 0;
}

int layers_read(struct layers *layers, struct yett_error *error)
{
	int fd = work_open_own(layers->store, "layers", O_RDONLY | O_DIRECTORY), r = 0;

	layers->directory = fd < 0 ? -1 : fd;
	if (fd < 0 && fd != -ENOENT)
		r = fd;
	while (r == 0) {
		_cleanup_fd_ int layer = open_layer(layers, layers->count + 1, O_PATH);

		if (layer < 0) {
			r = layer == -ENOENT ? 0 : layer;
			break;
		}
		layers->count++;
		r = layers->count > WORK_LAYERS_MAX ? -E2BIG : 0;
	}
	if (r == 0)
		r = read_names(layers, false);
	if (r == 0)
		return 0;
	errno = -r;
	return failure_set(
		error, YETT_E_FILE_OPERATION_FAILED, NULL,
		"the layers or the snapshots of the store %s are not as they were made (%m): what was changed is in its directories",
		layers->id);
}

int layers_open(struct layers *layers, const char *id, bool even_used, struct yett_error *error)
{
	int r;

	*layers = (struct layers){.store = -1, .directory = -1};
	r = work_open(id, &layers->store, error);
	if (r)
		return r;
	(void)snprintf(layers->id, sizeof layers->id, "%s", id);
	r = even_used && work_is_used(layers->store) ? 0 : work_lock(layers->store, id, error);
	return r ? r : layers_read(layers, error);
}

void layers_close(struct layers *layers)
{
	layers->directory = fd_close(layers->directory);
	layers->store = fd_close(layers->store);
}

struct layers_name *layers_find(struct layers *layers, const char *name)
{
	for (size_t i = 0; i < layers->names_count; i++)
		if (strcmp(layers->names[i].name, name) == 0)
			return &layers->names[i];
	return NULL;
}

static bool is_empty(int directory)
{
	DIR *opened = fd_entries(directory);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;

	while (opened && (entry = readdir(entries)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			return false;
	return opened != NULL;
}

/* An empty directory that is as `like` is, but that its owner can move it. */
static int make_fresh(const struct layers *layers, const struct stat *like)
{
	int r = work_remove_part(layers->store, FRESH);
	struct stat movable = *like;

	movable.st_mode |= 0700;
	return r == 0 ? work_make_like(layers->store, FRESH, &movable) : r;
}

/* What is called by a number that comes later, and names of that: of one that was killed while it cut. Else they would be of what comes
 * next. */
static int drop_orphans(struct layers *layers)
{
	DIR *opened = fd_entries(layers->directory);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;
	int r = opened ? 0 : -errno;

	while (r == 0 && (entry = readdir(entries))) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (entry->d_name[0] == '.' || (!*end && number > 0 && number <= layers->count))
			continue;
		r = work_remove_part(layers->store, DROPPED);
		if (r == 0 && renameat(layers->directory, entry->d_name, layers->store, DROPPED) < 0)
			r = -errno;
	}
	if (r == 0)
		r = work_remove_part(layers->store, DROPPED);
	return r == 0 ? read_names(layers, true) : r;
}

static int open_directory(struct layers *layers)
{
	if (layers->directory >= 0)
		return 0;
	if (mkdirat(layers->store, "layers", 0700) < 0)
		return -errno;
	layers->directory = work_open_own(layers->store, "layers", O_RDONLY | O_DIRECTORY);
	return layers->directory < 0 ? layers->directory : 0;
}

/* An empty layer on top of those that are there changes nothing; then it and "upper" change places. */
static int put_on_top(struct layers *layers, const struct stat *upper)
{
	const struct timespec times[] = {upper->st_atim, upper->st_mtim};
	char name[LAYERS_NUMBER_SIZE];
	int r = make_fresh(layers, upper);

	layers_number(layers->count + 1, name);
	if (r < 0)
		return r;
	if (renameat2(layers->store, FRESH, layers->directory, name, RENAME_NOREPLACE) < 0)
		return -errno;
	layers->count++;
	if (renameat2(layers->store, "upper", layers->directory, name, RENAME_EXCHANGE) < 0)
		return -errno;
	if (fchmodat(layers->store, "upper", upper->st_mode & 0777, 0) < 0 || utimensat(layers->store, "upper", times, 0) < 0)
		return -errno;
	return (int)layers->count;
}

static int freeze(struct layers *layers, unsigned max)
{
	_cleanup_fd_ int plain = openat(layers->store, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_fd_ int upper = -1;
	struct stat st; /* before it is made such that it can be moved */
	int r;

	if (plain < 0 || fstat(plain, &st) < 0)
		return -errno;
	upper = work_open_own(layers->store, "upper", O_RDONLY | O_DIRECTORY);
	if (upper < 0)
		return upper;
	if (is_empty(upper) || layers->count >= max) {
		r = is_empty(upper) ? (int)layers->count : -E2BIG;
		return fchmod(upper, st.st_mode & 0777) < 0 ? -errno : r;
	}
	if (fchmod(upper, (st.st_mode & 0777) | 0700) < 0)
		return -errno;
	r = open_directory(layers);
	if (r == 0)
		r = drop_orphans(layers);
	return r == 0 ? put_on_top(layers, &st) : r;
}

/* One less than there may be, so that there is always room for what layers_cut() puts away. */
int layers_freeze(struct layers *layers)
{
	return freeze(layers, WORK_LAYERS_MAX - 1);
}

/* Without its first one, nothing of what comes later is a layer. */
int layers_cut(struct layers *layers, unsigned count)
{
	char name[LAYERS_NUMBER_SIZE];
	_cleanup_fd_ int last = open_layer(layers, count, O_PATH);
	struct stat like;
	int r = freeze(layers, WORK_LAYERS_MAX);

	if (r < 0 || layers->count == count)
		return r < 0 ? r : 0;
	layers_number(count + 1, name);
	r = work_remove_part(layers->store, DROPPED);
	if (r < 0)
		return r;
	if (renameat(layers->directory, name, layers->store, DROPPED) < 0)
		return -errno;
	layers->count = count;
	if (last >= 0 && fstat(last, &like) == 0)
		(void)!fchmodat(layers->store, "upper", like.st_mode & 0777, 0);
	return drop_orphans(layers);
}

/* A layer that has another one on it, and that is the last one of no snapshot; 0: there is none. */
static unsigned find_needless(const struct layers *layers)
{
	for (unsigned layer = 1; layer < layers->count; layer++) {
		bool is_needed = false;

		for (size_t i = 0; i < layers->names_count; i++)
			is_needed = is_needed || layers->names[i].layer == layer;
		if (!is_needed)
			return layer;
	}
	return 0;
}

static int exchange(const struct layers *layers, int directory, const char *from, unsigned layer)
{
	char name[LAYERS_NUMBER_SIZE];

	layers_number(layer, name);
	return renameat2(directory, from, layers->directory, name, RENAME_EXCHANGE) < 0 ? -errno : 0;
}

/* What two layers show together, in the place of the upper one. */
static int merge(const struct layers *layers, unsigned layer, struct work_copy *copy)
{
	_cleanup_fd_ int below = open_layer(layers, layer, O_RDONLY | O_DIRECTORY),
			 above = open_layer(layers, layer + 1, O_RDONLY | O_DIRECTORY);
	_cleanup_fd_ int both = -1;
	struct stat st;
	int r = below < 0 ? below : above < 0 ? above : fstat(above, &st) < 0 ? -errno : 0;

	if (r == 0)
		r = make_fresh(layers, &st);
	if (r == 0)
		r = both = work_open_own(layers->store, FRESH, O_RDONLY | O_DIRECTORY);
	if (r >= 0)
		r = work_copy_layer(copy, above, both);
	if (r == 0)
		r = work_copy_below(copy, below, both);
	if (r == 0 && fchmod(both, st.st_mode | 0700) < 0)
		r = -errno;
	return r == 0 ? exchange(layers, layers->store, FRESH, layer + 1) : r;
}

/* A layer and an empty one on it have changed places: snapshots up to the empty one are as they were without it. */
static int lower_names(struct layers *layers, unsigned empty)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < layers->names_count; i++)
		if (layers->names[i].layer == empty) {
			layers->names[i].layer--;
			r = layers_set_name(layers, &layers->names[i]);
		}
	return r;
}

/* The mode and group of the last layer of a snapshot are those of the top when that was taken: an empty one that takes its place has them,
 * too. */
static int be_as_next(const struct layers *layers, unsigned layer)
{
	char name[LAYERS_NUMBER_SIZE], next[LAYERS_NUMBER_SIZE];
	struct stat st;

	layers_number(layer, name);
	layers_number(layer + 1, next);
	if (fstatat(layers->directory, next, &st, AT_SYMLINK_NOFOLLOW) < 0 || fchmodat(layers->directory, name, st.st_mode & 0777, 0) < 0)
		return -errno;
	return fchownat(layers->directory, name, (uid_t)-1, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 && errno != EPERM ? -errno : 0;
}

/* The lower one shows nothing any more: it gives way to an empty one, which rises to the top, and is taken off there. */
static int take_out(struct layers *layers, unsigned layer)
{
	char name[LAYERS_NUMBER_SIZE];
	int r = make_fresh(layers, &(struct stat){.st_mode = 0700, .st_gid = (gid_t)-1});

	if (r == 0)
		r = exchange(layers, layers->store, FRESH, layer);
	for (unsigned at = layer; r == 0 && at < layers->count; at++) {
		layers_number(at, name);
		r = be_as_next(layers, at);
		if (r == 0)
			r = exchange(layers, layers->directory, name, at + 1);
		if (r == 0)
			r = lower_names(layers, at + 1);
	}
	layers_number(layers->count, name);
	if (r == 0 && unlinkat(layers->directory, name, AT_REMOVEDIR) < 0)
		r = -errno;
	if (r < 0)
		return r;
	layers->count--;
	return work_remove_part(layers->store, FRESH);
}

int layers_squash(struct layers *layers, char *failed, size_t failed_size)
{
	struct work_copy copy = {.failed = ""};
	unsigned layer;
	int r = 0;

	while (r == 0 && (layer = find_needless(layers))) {
		r = merge(layers, layer, &copy);
		if (r == 0)
			r = take_out(layers, layer);
	}
	(void)snprintf(failed, failed_size, "%s", copy.failed);
	return r;
}
