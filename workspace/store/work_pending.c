/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See work_pending.h.
 *
 * A pending layer is a copy of "upper" at an earlier time. If a name has left "upper" since without
 * a whiteout, the layers below do not have the name, because the kernel makes a whiteout for a name
 * that they have. So a whiteout in "upper" for each name that only the copy has hides nothing that
 * was visible, and "upper" then shows the same over the copy as without it. A directory that has
 * replaced another one is opaque if the layers below have one, too. kernel:
 * filesystems/overlayfs.rst
 */
#include "workspace/store/work_pending.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/failure.h"
#include "workspace/store/work.h"
#include "workspace/store/work_copy.h"
#include "workspace/store/work_cover.h"
#include "workspace/store/work_layers.h"

/* Adds whiteouts to `name`, so that it shows the same over all pending layers as without them. */
static int cover_pending(const struct layers *layers, const struct cover *cover, const char *name)
{
	int r = 0;

	for (unsigned i = 1; r == 0 && i <= layers->pending; i++) {
		char number[LAYERS_NUMBER_SIZE];
		_cleanup_fd_ int below = -1;

		layers_number(layers->count + i, number);
		below = openat(layers->pending_directory, number,
		               O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = below < 0 ? -errno : cover_layer(cover, below, name);
	}
	return r;
}

static int copy_upper(const struct layers *layers, int upper, struct work_copy *copy)
{
	const struct cover cover = {.store = layers->store};
	_cleanup_fd_ int fresh = -1;
	struct stat st;
	int r = fstat(upper, &st) < 0 ? -errno : layers_make_fresh(layers, &st);

	if (r == 0)
		r = fresh = work_open_own(layers->store, LAYERS_FRESH, O_RDONLY | O_DIRECTORY);
	if (r >= 0)
		r = work_copy_layer(copy, upper, fresh);
	/* A directory can be moved only if its owner may write it. */
	if (r == 0 && fchmod(fresh, (st.st_mode & 0777) | 0700) < 0)
		r = -errno;
	return r == 0 ? cover_pending(layers, &cover, LAYERS_FRESH) : r;
}

static int put_fresh(struct layers *layers)
{
	char name[LAYERS_NUMBER_SIZE];

	if (mkdirat(layers->store, LAYERS_PENDING, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (layers->pending_directory < 0)
		layers->pending_directory =
			work_open_own(layers->store, LAYERS_PENDING, O_RDONLY | O_DIRECTORY);
	if (layers->pending_directory < 0)
		return layers->pending_directory;
	layers_number(layers->count + layers->pending + 1, name);
	if (renameat2(layers->store, LAYERS_FRESH, layers->pending_directory, name,
	              RENAME_NOREPLACE) < 0)
		return -errno;
	layers->pending++;
	return 0;
}

/*
 * Opens "upper" without work_open_own(): a sandbox uses the directory, so its mode must not change.
 */
int pending_add(struct layers *layers, struct work_copy *copy)
{
	_cleanup_fd_ int upper =
		openat(layers->store, "upper", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	if (upper < 0)
		return -errno;
	if (layers->pending == 0 && layers_is_empty(upper))
		return (int)layers->count;
	if (layers->count + layers->pending >= WORK_LAYERS_MAX - 1)
		return -E2BIG;
	r = layers_drop_orphans(layers);
	if (r == 0)
		r = copy_upper(layers, upper, copy);
	if (r == 0)
		r = put_fresh(layers);
	if (r == 0)
		return (int)(layers->count + layers->pending);
	/* if this fails, the next call removes it */
	(void)!work_remove_part(layers->store, LAYERS_FRESH);
	return r;
}

void pending_take_back(struct layers *layers)
{
	char name[LAYERS_NUMBER_SIZE];

	layers_number(layers->count + layers->pending, name);
	if (layers->pending == 0 || renameat2(layers->pending_directory, name, layers->store,
	                                      LAYERS_FRESH, RENAME_NOREPLACE) < 0)
		return;
	layers->pending--;
	(void)!work_remove_part(layers->store, LAYERS_FRESH);
}

/*
 * Every rename leaves a consistent store: "upper" has the whiteouts for all pending layers already.
 */
static int move_all(struct layers *layers)
{
	char name[LAYERS_NUMBER_SIZE];

	for (; layers->pending; layers->pending--) {
		layers_number(layers->count + 1, name);
		if (renameat2(layers->pending_directory, name, layers->directory, name,
		              RENAME_NOREPLACE) < 0)
			return -errno;
		layers->count++;
	}
	return unlinkat(layers->store, LAYERS_PENDING, AT_REMOVEDIR) < 0 && errno != ENOTEMPTY &&
	                       errno != EEXIST
	               ? -errno
	               : 0;
}

int pending_settle(struct layers *layers, struct yett_error *error)
{
	const struct cover cover = {.store = layers->store, .is_kept = true};
	/* LAYERS_FRESH and orphans are left by a killed process. */
	int r = work_remove_part(layers->store, LAYERS_FRESH);

	if (r == 0)
		r = layers_drop_orphans(layers);
	if (r == 0 && layers->pending == 0)
		return 0;
	if (r == 0)
		r = layers_open_directory(layers);
	if (r == 0)
		r = cover_pending(layers, &cover, "upper");
	if (r == 0)
		r = cover_end(&cover);
	if (r == 0)
		r = move_all(layers);
	if (r == 0)
		return 0;
	errno = -r;
	(void)failure_set(
		error, YETT_E_FILE_OPERATION_FAILED, NULL,
		"cannot move the snapshots that were taken while a sandbox used the store %s below its latest changes: %m",
		layers->id);
	if (r == -ENOSPC || r == -EDQUOT)
		error_mend(
			error,
			"make room, as by yett discard of another store: yett work list tells which there are");
	return YETT_E_FILE_OPERATION_FAILED;
}

int pending_settle_store(int store, const char *id, struct yett_error *error)
{
	_cleanup_(layers_close) struct layers layers;
	struct stat st;
	int r;

	layers_begin(&layers, -1, id);
	if (fstatat(store, LAYERS_NAMES, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0; /* the store has never had a snapshot */
	layers.store = openat(store, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	r = layers.store < 0 ? failure_set(error, YETT_E_FILE_OPERATION_FAILED, NULL,
	                                   "cannot use the store %s: %m", id)
	                     : layers_lock(&layers, error);
	if (r || fstatat(store, LAYERS_PENDING, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return r;
	r = layers_read(&layers, error);
	return r ? r : pending_settle(&layers, error);
}
