/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See "snapshot" in yett-workspace.h: takes snapshots of a store, rolls a store back and forks it.
 *
 * Runs as the caller, on stores of the caller. If a sandbox uses the store, the calling program
 * must have frozen the sandbox.
 */
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/escape.h"
#include "base/lines.h"
#include "base/failure.h"
#include "base/memory.h"
#include "base/sandbox_name.h"
#include "workspace/store/work.h"
#include "workspace/store/work_copy.h"
#include "workspace/store/work_layers.h"
#include "workspace/store/work_pending.h"

#define INFO "info"

static int workspace_snapshot_cannot(const struct layers *layers, const char *what, int r,
                                     struct yett_error *error)
{
	errno = -r;
	return failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL, "cannot %s the store %s: %m",
	                   what, layers->id);
}

static int cannot_copy(const struct layers *layers, const char *failed, int r,
                       struct yett_error *error)
{
	errno = -r;
	(void)failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
	                  "cannot copy %s%sthe store %s: %m", ESCAPE(failed), *failed ? " of " : "",
	                  layers->id);
	if (r == -EACCES)
		error_mend(
			error,
			"let its owner read it, in a sandbox that goes on with the store: chmod u+r, of a directory u+rx");
	return YETT_E_FILE_OPERATION_FAILED;
}

static int workspace_snapshot_no_memory(struct yett_error *error)
{
	return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for snapshots");
}

static int workspace_snapshot_find(struct layers *layers, const char *name,
                                   struct layers_name **ret_entry, struct yett_error *error)
{
	*ret_entry = layers_find(layers, name);
	return *ret_entry
	               ? 0
	               : error_set(
				 error, YETT_E_NOT_FOUND, YETT_R_NONE,
				 "the store %s has no snapshot %.80s; yett snapshot list %s tells which it has",
				 layers->id, ESCAPE(name), layers->id);
}

/* Chooses the lowest number that is not the name of a snapshot. */
static void choose_name(struct layers *layers, char name[static LAYERS_NAME_SIZE])
{
	unsigned number = 1;

	do
		(void)snprintf(name, LAYERS_NAME_SIZE, "%u", number++);
	while (layers_find(layers, name));
}

static int too_many(const struct layers *layers, struct yett_error *error)
{
	(void)error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
	                "the store %s has the maximum number of snapshots%s", layers->id,
	                layers->is_used ? " while a sandbox works on it" : "");
	error_mend(error, "delete those that you do not need: yett snapshot delete %s NAME%s",
	           layers->id,
	           layers->is_used ? "; and end the sandbox, which makes room for more" : "");
	return YETT_E_RESOURCE_LIMIT;
}

/*
 * Makes a layer of "upper". At the limit of layers, first merges layers that no snapshot needs
 * separately.
 */
static int workspace_snapshot_freeze(struct layers *layers, struct yett_error *error)
{
	char failed[WORK_COPY_PATH] = "";
	_cleanup_fd_ int lock = -1;
	int r = layers_freeze(layers);

	if (r == -E2BIG) {
		/* A running yett apply reads the layers, which layers_squash() replaces. */
		r = work_hold_apply(layers->store, layers->id, &lock, error);
		if (r)
			return r;
		r = layers_squash(layers, failed, sizeof failed);
		if (r < 0)
			return cannot_copy(layers, failed, r, error);
		r = layers_freeze(layers);
	}
	if (r == -E2BIG)
		return too_many(layers, error);
	return r < 0 ? workspace_snapshot_cannot(layers, "freeze what was changed in", r, error)
	             : 0;
}

static int workspace_snapshot_copy(struct layers *layers, struct yett_error *error)
{
	struct work_copy copy = {.failed = ""};
	int r = pending_add(layers, &copy);

	if (r == -E2BIG)
		return too_many(layers, error);
	return r < 0 ? cannot_copy(layers, copy.failed, r, error) : 0;
}

static void set_boot(struct layers_name *entry)
{
	char boot[LINES_BOOT_SIZE];

	lines_read_boot(boot);
	if (strlen(boot) < sizeof entry->boot)
		(void)strcpy(entry->boot, boot);
}

static int name_last(struct layers *layers, struct layers_name *entry, struct yett_error *error)
{
	int r;

	entry->layer = layers->count + layers->pending;
	r = layers_set_name(layers, entry);
	if (r == 0)
		return 0;
	pending_take_back(layers);
	return workspace_snapshot_cannot(layers, "name a snapshot of", r, error);
}

static int workspace_snapshot_take(struct layers *layers, const char *name, char **ret_name,
                                   struct yett_error *error)
{
	struct layers_name entry = {.created_ms = clock_wall_ms()};
	int r;

	set_boot(&entry);
	if (name)
		(void)snprintf(entry.name, sizeof entry.name, "%s", name);
	else
		choose_name(layers, entry.name);
	if (layers_find(layers, entry.name))
		return error_set(error, YETT_E_ALREADY_EXISTS, YETT_R_NONE,
		                 "the store %s has a snapshot %s already", layers->id, entry.name);
	if (layers->names_count == LAYERS_NAMES_MAX)
		return too_many(layers, error);
	r = layers->is_used ? workspace_snapshot_copy(layers, error)
	                    : workspace_snapshot_freeze(layers, error);
	if (r == 0)
		r = name_last(layers, &entry, error);
	if (r)
		return r;
	if (ret_name && !(*ret_name = memory_new(strlen(entry.name) + 1)))
		return workspace_snapshot_no_memory(error);
	if (ret_name)
		(void)strcpy(*ret_name, entry.name);
	return 0;
}

static int open_and_take(const char *work, const char *name, bool even_used, char **ret_name,
                         struct yett_error *error)
{
	_cleanup_(layers_close) struct layers layers;
	int r = layers_open(&layers, work, even_used, error);

	if (r == 0 && name && (!sandbox_name_is_valid(name) || strlen(name) >= LAYERS_NAME_SIZE))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
			"%.100s cannot be the name of a snapshot: at most 63 of a-z, 0-9, '.', '_' and '-', and a letter or digit first",
			ESCAPE(name));
	return r ? r : workspace_snapshot_take(&layers, name, ret_name, error);
}

int yett_snapshot_take(const char *work, const char *name, char **ret_name,
                       struct yett_error *error)
{
	return open_and_take(work, name, false, ret_name, error);
}

int yett_snapshot_take_used(const char *work, const char *name, char **ret_name,
                            struct yett_error *error)
{
	return open_and_take(work, name, true, ret_name, error);
}

static int workspace_snapshot_older(const void *a, const void *b)
{
	const struct layers_name *x = a, *y = b;

	return x->layer != y->layer
	               ? (x->layer < y->layer ? -1 : 1)
	               : (x->created_ms > y->created_ms) - (x->created_ms < y->created_ms);
}

int yett_snapshots_list(const char *work, struct yett_snapshot_list **ret_list,
                        struct yett_error *error)
{
	_cleanup_(memory_freep) struct list *list = memory_new(sizeof *list);
	_cleanup_(layers_close) struct layers layers;
	char boot[LINES_BOOT_SIZE];
	int r;

	layers_begin(&layers, -1, work);
	r = list ? work_open(work, &layers.store, error) : workspace_snapshot_no_memory(error);
	if (r == 0)
		r = layers_read(&layers, error);
	if (r)
		return r;
	lines_read_boot(boot);
	qsort(layers.names, layers.names_count, sizeof *layers.names, workspace_snapshot_older);
	for (size_t i = 0; i < layers.names_count; i++) {
		struct yett_snapshot *snapshot = memory_new(sizeof *snapshot);
		char *name = snapshot ? memory_add_text(snapshot, layers.names[i].name) : NULL;

		if (!name) {
			memory_free(snapshot);
			return workspace_snapshot_no_memory(error);
		}
		*snapshot = (struct yett_snapshot){.size = sizeof *snapshot,
		                                   .name = name,
		                                   .created_ms = layers.names[i].created_ms,
		                                   .layers = layers.names[i].layer,
		                                   .is_earlier_boot =
		                                           *layers.names[i].boot &&
		                                           strcmp(layers.names[i].boot, boot) != 0};
		if (!list_add(list, snapshot))
			return workspace_snapshot_no_memory(error);
	}
	*ret_list = (struct yett_snapshot_list *)steal_ptr(&list);
	return 0;
}

size_t yett_snapshot_list_count(const struct yett_snapshot_list *list)
{
	return ((const struct list *)list)->count;
}

const struct yett_snapshot *yett_snapshot_list_get(const struct yett_snapshot_list *list, size_t i)
{
	const struct list *snapshots = (const struct list *)list;

	return i < snapshots->count ? snapshots->items[i] : NULL;
}

int yett_snapshot_delete(const char *work, const char *name, struct yett_error *error)
{
	_cleanup_(layers_close) struct layers layers;
	char failed[WORK_COPY_PATH];
	struct layers_name *entry;
	_cleanup_fd_ int lock = -1;
	int r = layers_open(&layers, work, true, error);

	if (r == 0)
		r = work_hold_apply(layers.store, layers.id, &lock, error);
	if (r == 0)
		r = workspace_snapshot_find(&layers, name, &entry, error);
	if (r)
		return r;
	r = layers_forget_name(&layers, entry->name);
	if (r < 0)
		return workspace_snapshot_cannot(&layers, "forget a snapshot of", r, error);
	*entry = layers.names[--layers.names_count];
	if (!layers.is_used)
		/* If this fails, the layers only keep their disk space. */
		(void)!layers_squash(&layers, failed, sizeof failed);
	return 0;
}

/* Refuses a rollback that would delete later snapshots, unless the flags allow it. */
static int check_later(const struct layers *layers, const struct layers_name *entry, uint32_t flags,
                       struct yett_error *error)
{
	size_t later = 0;

	for (size_t i = 0; i < layers->names_count; i++)
		later += layers->names[i].layer > entry->layer;
	if (!later || (flags & YETT_ROLLBACK_DELETE_LATER))
		return 0;
	(void)error_set(
		error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		"the store %s has %zu snapshot%s later than %s, which would be deleted with the changes since then",
		layers->id, later, later == 1 ? "" : "s", entry->name);
	error_mend(
		error,
		"yett snapshot rollback --delete-later does that; yett snapshot fork makes another store from %s, and keeps them",
		entry->name);
	return YETT_E_INVALID_REQUEST;
}

/* Opens and reads the store as it is: takes no lock, and leaves pending layers pending. */
static int open_to_check(struct layers *layers, const char *work, struct yett_error *error)
{
	int r;

	layers_begin(layers, -1, work);
	r = work_open(work, &layers->store, error);
	return r ? r : layers_read(layers, error);
}

int yett_snapshot_rollback(const char *work, const char *name, uint32_t flags,
                           struct yett_error *error)
{
	_cleanup_(layers_close) struct layers layers;
	const bool is_check = flags & YETT_ROLLBACK_CHECK;
	struct layers_name *entry;
	_cleanup_fd_ int lock = -1;
	int r = is_check ? open_to_check(&layers, work, error)
	                 : layers_open(&layers, work, false, error);

	if (r == 0)
		r = work_hold_apply(layers.store, layers.id, &lock, error);
	if (r == 0)
		r = workspace_snapshot_find(&layers, name, &entry, error);
	if (r == 0)
		r = check_later(&layers, entry, flags, error);
	if (r || is_check)
		return r;
	r = layers_cut(&layers, entry->layer);
	return r < 0 ? workspace_snapshot_cannot(&layers, "go back in", r, error) : 0;
}

/* Copies one directory tree of the store. */
static int workspace_snapshot_copy_part(const struct layers *layers, int from, int to,
                                        const char *name, struct yett_error *error)
{
	_cleanup_fd_ int old = openat(from, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
			 new = -1;
	struct work_copy copy = {.failed = ""};
	int r = old < 0 ? -errno : 0;

	if (r == 0)
		r = mkdirat(to, name, 0700) < 0 ? -errno : 0;
	if (r == 0) {
		new = openat(to, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = new < 0 ? -errno : 0;
	}
	if (r == 0)
		r = work_copy_layer(&copy, old, new);
	return r < 0 ? cannot_copy(layers, copy.failed, r, error) : 0;
}

/* If the store has no "hidden", the fork gets none. */
static int copy_hidden(const struct layers *layers, int store, struct yett_error *error)
{
	struct stat st;

	if (fstatat(layers->store, "hidden", &st, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT)
		return 0;
	return workspace_snapshot_copy_part(layers, layers->store, store, "hidden", error);
}

/*
 * Makes the "upper" of a fork of a snapshot: an empty directory. The overlay shows the mode and
 * group of "upper" at its top, so these are taken from the last layer of the snapshot (of layer 0:
 * from the "upper" of the store).
 */
static int make_upper(const struct layers *layers, int store, unsigned layer,
                      struct yett_error *error)
{
	char name[LAYERS_NUMBER_SIZE];
	struct stat like;
	int r;

	layers_number(layer, name);
	r = layer == 0 ? fstatat(layers->store, "upper", &like, AT_SYMLINK_NOFOLLOW)
	               : fstatat(layers_place(layers, layer), name, &like, AT_SYMLINK_NOFOLLOW);
	r = r < 0 ? -errno : work_make_like(store, "upper", &like);
	return r < 0 ? workspace_snapshot_cannot(layers, "copy the top of", r, error) : 0;
}

/* Copies the layers range[0] to range[1] to the directory `part` of another store. */
static int copy_layers(const struct layers *layers, int store, const char *part,
                       const unsigned range[2], struct yett_error *error)
{
	_cleanup_fd_ int directory = -1;
	char name[LAYERS_NUMBER_SIZE];
	int r = 0;

	if (mkdirat(store, part, 0700) < 0 ||
	    (directory = openat(store, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return workspace_snapshot_cannot(layers, "copy the layers of", -errno, error);
	for (unsigned layer = range[0]; r == 0 && layer <= range[1]; layer++) {
		layers_number(layer, name);
		r = workspace_snapshot_copy_part(layers, layers_place(layers, layer), directory,
		                                 name, error);
	}
	return r;
}

static int copy_names(const struct layers *layers, int store, unsigned last,
                      struct yett_error *error)
{
	struct layers copy;
	int r = 0;

	layers_begin(&copy, store, layers->id);
	for (size_t i = 0; r == 0 && i < layers->names_count; i++)
		r = layers->names[i].layer <= last ? layers_set_name(&copy, &layers->names[i]) : 0;
	return r < 0 ? workspace_snapshot_cannot(layers, "copy the snapshots of", r, error) : 0;
}

/*
 * Copies the current state. In the fork, as in the store, "upper" lies over the layers that are not
 * pending, and pending layers stay pending.
 */
static int copy_now(const struct layers *layers, int store, struct yett_error *error)
{
	const unsigned last = layers->count + layers->pending;
	int r = workspace_snapshot_copy_part(layers, layers->store, store, "upper", error);

	if (r == 0)
		r = copy_layers(layers, store, "layers", (const unsigned[]){1, layers->count},
		                error);
	if (r == 0 && layers->pending)
		r = copy_layers(layers, store, LAYERS_PENDING,
		                (const unsigned[]){layers->count + 1, last}, error);
	return r ? r : copy_names(layers, store, last, error);
}

/*
 * Copies the state of a snapshot. Its last layers may be pending in the store. In the fork they are
 * ordinary layers: the "upper" of the fork is empty, so it needs no whiteouts over them.
 */
static int copy_snapshot(const struct layers *layers, int store, unsigned last,
                         struct yett_error *error)
{
	int r = make_upper(layers, store, last, error);

	if (r == 0)
		r = copy_layers(layers, store, "layers", (const unsigned[]){1, last}, error);
	return r ? r : copy_names(layers, store, last, error);
}

/* Copies "info" last: a store without "info" counts as incomplete. */
static int workspace_snapshot_fill(struct layers *layers, const char *name, int store,
                                   struct yett_error *error)
{
	struct layers_name *entry;
	int r = name ? workspace_snapshot_find(layers, name, &entry, error) : 0;

	if (r == 0)
		r = name ? copy_snapshot(layers, store, entry->layer, error)
		         : copy_now(layers, store, error);
	if (r == 0)
		r = copy_hidden(layers, store, error);
	if (r)
		return r;
	r = mkdirat(store, "work", 0700) < 0 ? -errno : work_copy_info(layers->store, store);
	return r < 0 ? workspace_snapshot_cannot(layers, "copy the metadata of", r, error) : 0;
}

int yett_snapshot_fork(const char *work, const char *name, uint32_t flags,
                       char ret_id[YETT_ID_SIZE], struct yett_error *error)
{
	_cleanup_(layers_close) struct layers layers;
	_cleanup_fd_ int root = -1, store = -1;
	char path[HOME_PATH_SIZE], id[YETT_ID_SIZE];
	int r = layers_open(&layers, work, flags & YETT_FORK_USED, error);

	if (r == 0)
		r = work_open_all(false, &root, path, error);
	if (r)
		return r;
	work_new_id(id);
	if (mkdirat(root, id, 0700) < 0 ||
	    (store = openat(root, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)) < 0)
		return workspace_snapshot_cannot(&layers, "make another one of", -errno, error);
	r = workspace_snapshot_fill(&layers, name, store, error);
	if (r)
		/* If this fails, the rest is listed as a store and can be discarded. */
		(void)!work_remove(root, id, store);
	else
		(void)snprintf(ret_id, YETT_ID_SIZE, "%s", id);
	return r;
}
