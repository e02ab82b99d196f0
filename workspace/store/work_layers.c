/* SPDX-License-Identifier: Apache-2.0 */
/* See work_layers.h. */
#include "workspace/store/work_layers.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/entries.h"
#include "base/escape.h"
#include "base/failure.h"
#include "base/sandbox_name.h"
#include "workspace/store/work.h"
#include "workspace/store/work_copy.h"
#include "workspace/store/work_pending.h"

#define NAME_NEW  ".new"
#define LINK_SIZE 80
/* characters and length of a boot id. proc_sys_kernel(5) */
#define BOOT_ID   "0123456789abcdef-"
#define BOOT_SIZE 36

#define DROPPED "dropped" /* a former layer, to be removed */

void layers_number(unsigned layer, char name[static LAYERS_NUMBER_SIZE])
{
	(void)snprintf(name, LAYERS_NUMBER_SIZE, "%u", layer);
}

/*
 * Opens a layer without following links. work_open_own() gives the owner the permissions that
 * moving the layer needs.
 */
static int open_layer(const struct layers *layers, unsigned layer, int flags)
{
	char name[LAYERS_NUMBER_SIZE];

	layers_number(layer, name);
	return layers->directory < 0 ? -ENOENT : work_open_own(layers->directory, name, flags);
}

int layers_place(const struct layers *layers, unsigned layer)
{
	return layer > layers->count ? layers->pending_directory : layers->directory;
}

/* Reads the link of a snapshot. False: the entry is not in our format, and the callers skip it. */
static bool read_name(int directory, const char *name, struct layers_name *ret_entry)
{
	char text[LINK_SIZE];
	unsigned long long layer, created;
	int end = 0;
	ssize_t n = sandbox_name_is_valid(name) && strlen(name) < LAYERS_NAME_SIZE
	                    ? readlinkat(directory, name, text, sizeof text - 1)
	                    : -1;

	text[n < 0 ? 0 : n] = '\0';
	if (n <= 0 || n == sizeof text - 1 ||
	    sscanf(text, "%llu %llu%n", &layer, &created, &end) != 2 || layer > UINT16_MAX)
		return false;
	if (text[end] && (text[end] != ' ' || strlen(text + end + 1) != BOOT_SIZE ||
	                  text[end + 1 + strspn(text + end + 1, BOOT_ID)]))
		return false;
	*ret_entry = (struct layers_name){.layer = (unsigned)layer, .created_ms = created};
	(void)strcpy(ret_entry->name, name);
	(void)snprintf(ret_entry->boot, sizeof ret_entry->boot, "%s",
	               text[end] ? text + end + 1 : "");
	return true;
}

/*
 * Reads the names of snapshots whose layers exist. Other names are left from a layers_cut() that
 * was killed; they are removed if `is_cleaned`. Returns 0 or -errno.
 */
static int read_names(struct layers *layers, bool is_cleaned)
{
	_cleanup_fd_ int directory =
		work_open_own(layers->store, LAYERS_NAMES, O_RDONLY | O_DIRECTORY);
	DIR *opened = directory < 0 ? NULL : fd_entries(directory);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const unsigned last = layers->count + layers->pending;
	const struct dirent *entry;
	int r;

	if (directory < 0)
		return directory == -ENOENT ? 0 : directory;
	if (!opened)
		return -errno;
	layers->names_count = 0;
	while ((r = entries_next(entries, &entry)) == 0 && entry) {
		struct layers_name name;

		if (!read_name(directory, entry->d_name, &name))
			continue;
		if (name.layer <= last && layers->names_count < LAYERS_NAMES_MAX)
			layers->names[layers->names_count++] = name;
		else if (name.layer > last && is_cleaned &&
		         unlinkat(directory, entry->d_name, 0) < 0)
			return -errno;
	}
	return r;
}

int layers_set_name(const struct layers *layers, const struct layers_name *name)
{
	_cleanup_fd_ int directory = -1;
	char text[LINK_SIZE];

	if (mkdirat(layers->store, LAYERS_NAMES, 0700) < 0 && errno != EEXIST)
		return -errno;
	directory = work_open_own(layers->store, LAYERS_NAMES, O_RDONLY | O_DIRECTORY);
	if (directory < 0)
		return directory;
	(void)snprintf(text, sizeof text, "%u %llu%s%s", name->layer,
	               (unsigned long long)name->created_ms, *name->boot ? " " : "", name->boot);
	(void)unlinkat(directory, NAME_NEW, 0); /* left by a killed process */
	return symlinkat(text, directory, NAME_NEW) < 0 ||
	                       renameat(directory, NAME_NEW, directory, name->name) < 0
	               ? -errno
	               : 0;
}

int layers_forget_name(const struct layers *layers, const char *name)
{
	_cleanup_fd_ int directory =
		work_open_own(layers->store, LAYERS_NAMES, O_RDONLY | O_DIRECTORY);

	if (directory < 0)
		return directory;
	return unlinkat(directory, name, 0) < 0 ? -errno : 0;
}

/*
 * Counts the layers in a directory, from number `first` up to the first missing number. Returns the
 * count or -errno.
 */
static int count_from(int directory, unsigned first)
{
	char name[LAYERS_NUMBER_SIZE];
	unsigned count = 0;

	while (directory >= 0) {
		_cleanup_fd_ int layer = -1;

		layers_number(first + count, name);
		layer = work_open_own(directory, name, O_PATH);
		if (layer < 0)
			return layer == -ENOENT ? (int)count : layer;
		if (++count > WORK_LAYERS_MAX)
			return -E2BIG;
	}
	return 0;
}

static int work_layers_open_part(const struct layers *layers, const char *name, int *fd)
{
	int opened = work_open_own(layers->store, name, O_RDONLY | O_DIRECTORY);

	fd_close(*fd);
	*fd = opened < 0 ? -1 : opened;
	return opened < 0 && opened != -ENOENT ? opened : 0;
}

static int read_layers(struct layers *layers)
{
	int r = work_layers_open_part(layers, "layers", &layers->directory);

	if (r == 0)
		r = work_layers_open_part(layers, LAYERS_PENDING, &layers->pending_directory);
	if (r == 0)
		r = count_from(layers->directory, 1);
	if (r < 0)
		return r;
	layers->count = (unsigned)r;
	r = count_from(layers->pending_directory, layers->count + 1);
	if (r < 0)
		return r;
	layers->pending = (unsigned)r;
	return read_names(layers, false);
}

static int fail_read(const struct layers *layers, int r, struct yett_error *error)
{
	errno = -r;
	return failure_set(
		error, YETT_E_FILE_OPERATION_FAILED, NULL,
		"the layers or snapshots of the store %s are damaged (%m): the changed files are in the store's directories",
		layers->id);
}

int layers_read(struct layers *layers, struct yett_error *error)
{
	int r = read_layers(layers);

	return r < 0 ? fail_read(layers, r, error) : 0;
}

int layers_lock(struct layers *layers, struct yett_error *error)
{
	const struct timespec moment = {.tv_nsec = 1000000};

	if (mkdirat(layers->store, LAYERS_NAMES, 0700) < 0 && errno != EEXIST)
		return fail_read(layers, -errno, error);
	layers->lock = work_open_own(layers->store, LAYERS_NAMES, O_RDONLY | O_DIRECTORY);
	if (layers->lock < 0)
		return fail_read(layers, layers->lock, error);
	for (unsigned i = 0; i < WORK_LOCK_TRIES; i++) {
		if (flock(layers->lock, LOCK_EX | LOCK_NB) == 0)
			return 0;
		(void)nanosleep(&moment, NULL);
	}
	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                "a snapshot of the store %s is being made or changed", layers->id);
	error_mend(error, "wait until that is done");
	return YETT_E_INVALID_REQUEST;
}

/*
 * Tests again under layers_lock() whether a sandbox uses the store, because the sandbox may have
 * ended since the first test. Its end releases the lock of the store, but not layers_lock().
 */
int layers_open(struct layers *layers, const char *id, bool even_used, struct yett_error *error)
{
	int r;

	layers_begin(layers, -1, id);
	r = work_open(id, &layers->store, error);
	if (r == 0)
		r = even_used && work_is_used(layers->store) ? 0
		                                             : work_lock(layers->store, id, error);
	if (r == 0)
		r = layers_lock(layers, error);
	if (r == 0)
		layers->is_used = flock(layers->store, LOCK_EX | LOCK_NB) < 0;
	if (r == 0)
		r = layers_read(layers, error);
	return r || layers->is_used ? r : pending_settle(layers, error);
}

void layers_begin(struct layers *layers, int store, const char *id)
{
	*layers = (struct layers){
		.store = store, .directory = -1, .pending_directory = -1, .lock = -1};
	(void)snprintf(layers->id, sizeof layers->id, "%s", id);
}

void layers_close(struct layers *layers)
{
	layers->directory = fd_close(layers->directory);
	layers->pending_directory = fd_close(layers->pending_directory);
	layers->lock = fd_close(layers->lock);
	layers->store = fd_close(layers->store);
}

struct layers_name *layers_find(struct layers *layers, const char *name)
{
	for (size_t i = 0; i < layers->names_count; i++)
		if (strcmp(layers->names[i].name, name) == 0)
			return &layers->names[i];
	return NULL;
}

bool layers_is_empty(int directory)
{
	DIR *opened = fd_entries(directory);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;

	return opened && entries_next(entries, &entry) == 0 && !entry;
}

int layers_make_fresh(const struct layers *layers, const struct stat *like)
{
	int r = work_remove_part(layers->store, LAYERS_FRESH);
	struct stat movable = *like;

	movable.st_mode |= 0700;
	return r == 0 ? work_make_like(layers->store, LAYERS_FRESH, &movable) : r;
}

int layers_drop_orphans(struct layers *layers)
{
	DIR *opened = layers->directory < 0 ? NULL : fd_entries(layers->directory);
	_cleanup_(fd_entries_close) DIR *entries = opened;
	const struct dirent *entry;
	int r = opened || layers->directory < 0 ? 0 : -errno;

	while (r == 0 && opened && (r = entries_next(entries, &entry)) == 0 && entry) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (entry->d_name[0] == '.' || (!*end && number > 0 && number <= layers->count))
			continue;
		r = work_remove_part(layers->store, DROPPED);
		if (r == 0 &&
		    renameat(layers->directory, entry->d_name, layers->store, DROPPED) < 0)
			r = -errno;
	}
	if (r == 0)
		r = work_remove_part(layers->store, DROPPED);
	return r == 0 ? read_names(layers, true) : r;
}

int layers_open_directory(struct layers *layers)
{
	if (layers->directory >= 0)
		return 0;
	if (mkdirat(layers->store, "layers", 0700) < 0)
		return -errno;
	layers->directory = work_open_own(layers->store, "layers", O_RDONLY | O_DIRECTORY);
	return layers->directory < 0 ? layers->directory : 0;
}

/*
 * Adds an empty layer on top, which does not change what the store shows, and exchanges it with
 * "upper".
 */
static int put_on_top(struct layers *layers, const struct stat *upper)
{
	const struct timespec times[] = {upper->st_atim, upper->st_mtim};
	char name[LAYERS_NUMBER_SIZE];
	int r = layers_make_fresh(layers, upper);

	layers_number(layers->count + 1, name);
	if (r < 0)
		return r;
	if (renameat2(layers->store, LAYERS_FRESH, layers->directory, name, RENAME_NOREPLACE) < 0)
		return -errno;
	layers->count++;
	if (renameat2(layers->store, "upper", layers->directory, name, RENAME_EXCHANGE) < 0)
		return -errno;
	if (fchmodat(layers->store, "upper", upper->st_mode & 0777, 0) < 0 ||
	    utimensat(layers->store, "upper", times, 0) < 0)
		return -errno;
	return (int)layers->count;
}

static int work_layers_freeze(struct layers *layers, unsigned max)
{
	_cleanup_fd_ int plain =
		openat(layers->store, "upper", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_fd_ int upper = -1;
	struct stat st; /* before its owner gets the permissions for the move */
	int r;

	if (plain < 0 || fstat(plain, &st) < 0)
		return -errno;
	upper = work_open_own(layers->store, "upper", O_RDONLY | O_DIRECTORY);
	if (upper < 0)
		return upper;
	if (layers_is_empty(upper) || layers->count >= max) {
		r = layers_is_empty(upper) ? (int)layers->count : -E2BIG;
		return fchmod(upper, st.st_mode & 0777) < 0 ? -errno : r;
	}
	if (fchmod(upper, (st.st_mode & 0777) | 0700) < 0)
		return -errno;
	r = layers_open_directory(layers);
	if (r == 0)
		r = layers_drop_orphans(layers);
	return r == 0 ? put_on_top(layers, &st) : r;
}

/* Stops one below the limit, so that layers_cut() always has room for the layer that it drops. */
int layers_freeze(struct layers *layers)
{
	return work_layers_freeze(layers, WORK_LAYERS_MAX - 1);
}

/*
 * Layers are numbered without a gap: when layer `count` + 1 is moved away, no later one is a layer
 * any more.
 */
int layers_cut(struct layers *layers, unsigned count)
{
	char name[LAYERS_NUMBER_SIZE];
	_cleanup_fd_ int last = open_layer(layers, count, O_PATH);
	struct stat like;
	int r = work_layers_freeze(layers, WORK_LAYERS_MAX);

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
	return layers_drop_orphans(layers);
}

/* Returns a layer that is not on top and is not the last layer of a snapshot. 0: there is none. */
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

static int work_layers_exchange(const struct layers *layers, int directory, const char *from,
                                unsigned layer)
{
	char name[LAYERS_NUMBER_SIZE];

	layers_number(layer, name);
	return renameat2(directory, from, layers->directory, name, RENAME_EXCHANGE) < 0 ? -errno
	                                                                                : 0;
}

/*
 * Puts the merge of two layers in the place of the upper one. syncfs(2) writes the copy to disk
 * before the copy replaces the original.
 */
static int work_layers_merge(const struct layers *layers, unsigned layer, struct work_copy *copy)
{
	_cleanup_fd_ int below = open_layer(layers, layer, O_RDONLY | O_DIRECTORY),
			 above = open_layer(layers, layer + 1, O_RDONLY | O_DIRECTORY);
	_cleanup_fd_ int both = -1;
	struct stat st;
	int r = below < 0 ? below : above < 0 ? above : fstat(above, &st) < 0 ? -errno : 0;

	if (r == 0)
		r = layers_make_fresh(layers, &st);
	if (r == 0)
		r = both = work_open_own(layers->store, LAYERS_FRESH, O_RDONLY | O_DIRECTORY);
	if (r >= 0)
		r = work_copy_layer(copy, above, both);
	if (r == 0)
		r = work_copy_below(copy, below, both);
	if (r == 0 && (fchmod(both, st.st_mode | 0700) < 0 || syncfs(both) < 0))
		r = -errno;
	return r == 0 ? work_layers_exchange(layers, layers->store, LAYERS_FRESH, layer + 1) : r;
}

/*
 * Called after a layer and the empty layer have been exchanged, and the empty one has the number
 * `empty`. Snapshots that end at `empty` end one lower from now on.
 */
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

/*
 * Gives the empty layer `layer` the mode and group of the next one. A snapshot shows the mode and
 * group of its last layer at the top, and the empty layer can become that layer when the two are
 * exchanged.
 */
static int be_as_next(const struct layers *layers, unsigned layer)
{
	char name[LAYERS_NUMBER_SIZE], next[LAYERS_NUMBER_SIZE];
	struct stat st;

	layers_number(layer, name);
	layers_number(layer + 1, next);
	if (fstatat(layers->directory, next, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    fchmodat(layers->directory, name, st.st_mode & 0777, 0) < 0)
		return -errno;
	return fchownat(layers->directory, name, (uid_t)-1, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0 &&
	                       errno != EPERM
	               ? -errno
	               : 0;
}

/*
 * Removes layer `layer` after work_layers_merge() has merged its files into the layer above. Puts
 * an empty layer in its place, moves the empty layer to the top by exchanging it with each layer
 * above, and removes it there, so that the numbers of layers never have a gap. Last, removes the
 * old layer, which the first exchange moved to LAYERS_FRESH.
 */
static int take_out(struct layers *layers, unsigned layer)
{
	char name[LAYERS_NUMBER_SIZE];
	int r = layers_make_fresh(layers, &(struct stat){.st_mode = 0700, .st_gid = (gid_t)-1});

	if (r == 0)
		r = work_layers_exchange(layers, layers->store, LAYERS_FRESH, layer);
	for (unsigned at = layer; r == 0 && at < layers->count; at++) {
		layers_number(at, name);
		r = be_as_next(layers, at);
		if (r == 0)
			r = work_layers_exchange(layers, layers->directory, name, at + 1);
		if (r == 0)
			r = lower_names(layers, at + 1);
	}
	layers_number(layers->count, name);
	if (r == 0 && unlinkat(layers->directory, name, AT_REMOVEDIR) < 0)
		r = -errno;
	if (r < 0)
		return r;
	layers->count--;
	return work_remove_part(layers->store, LAYERS_FRESH);
}

int layers_squash(struct layers *layers, char *failed, size_t failed_size)
{
	struct work_copy copy = {.failed = ""};
	unsigned layer;
	int r = 0;

	while (r == 0 && (layer = find_needless(layers))) {
		r = work_layers_merge(layers, layer, &copy);
		if (r == 0)
			r = take_out(layers, layer);
	}
	if (r < 0)
		/* If this fails, the next call removes it. */
		(void)!work_remove_part(layers->store, LAYERS_FRESH);
	(void)snprintf(failed, failed_size, "%s", copy.failed);
	return r;
}
