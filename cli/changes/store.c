/* SPDX-License-Identifier: Apache-2.0 */
/* See store.h. */
#include "cli/changes/store.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/fd.h"
#include "cli/changes/work.h"

#define FROZEN_MAX (STORE_LAYERS_MAX - 1)

/* Returns a descriptor or -errno. */
static int cli_store_open_below(int store, const char *path)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	                       .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
	                                  RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV};
	long fd = syscall(SYS_openat2, store, path, &how, sizeof how);

	return fd < 0 ? -errno : (int)fd;
}

static int cli_store_fail(const struct yett_work *work, const char *name, int r,
                          struct yett_error *error)
{
	errno = -r;
	return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot open %s/%s: %m",
	                 work->store, name);
}

/*
 * Opens layers/1, layers/2 and so on until one does not exist, and adds them with the newest first.
 */
static int cli_store_open_frozen(const struct yett_work *work, int directory, struct store *store,
                                 struct yett_error *error)
{
	char name[32];
	int frozen[FROZEN_MAX], r = 0;
	size_t count = 0;

	while (r >= 0 && count < FROZEN_MAX) {
		(void)snprintf(name, sizeof name, "layers/%zu", count + 1);
		r = cli_store_open_below(directory, name);
		if (r >= 0)
			frozen[count++] = r;
	}
	while (count > 0)
		store->layers[store->count++] = frozen[--count];
	return r >= 0 || r == -ENOENT ? 0 : cli_store_fail(work, name, r, error);
}

/* Compares only the inode: the device number may differ after a reboot. */
static int open_source(const struct yett_work *work, struct store *store, struct yett_error *error)
{
	struct stat st;

	store->source = open(work->source, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->source < 0 || fstat(store->source, &st) < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "cannot open %s, the directory of the store: %m", work->source);
	store->is_replaced = work->inode && work->inode != st.st_ino;
	return 0;
}

int store_open(const struct yett_work *work, struct store *ret_store, struct yett_error *error)
{
	_cleanup_fd_ int directory =
		open(work->store, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int upper, r = work_check_complete(work, error);

	*ret_store = (struct store){.hidden = -1, .source = -1};
	if (r)
		return r;
	upper = directory < 0 ? -errno : cli_store_open_below(directory, "upper");
	if (upper < 0)
		return cli_store_fail(work, "upper", upper, error);
	ret_store->layers[ret_store->count++] = upper;
	if (cli_store_open_frozen(work, directory, ret_store, error))
		return YETT_E_FILE_OPERATION_FAILED;
	ret_store->hidden = cli_store_open_below(directory, "hidden");
	if (ret_store->hidden < 0 && ret_store->hidden != -ENOENT)
		return cli_store_fail(work, "hidden", ret_store->hidden, error);
	return open_source(work, ret_store, error);
}

/*
 * Opens the layer that holds a snapshot taken while a sandbox worked on the store. Until that
 * sandbox ends, the snapshot is a copy in pending/; then the copy becomes a layer. That may happen
 * while this function runs, so it looks in both places.
 */
static int open_pending(const struct yett_work *work, struct store *store, size_t number,
                        struct yett_error *error)
{
	_cleanup_fd_ int directory =
		open(work->store, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	char pending[32], frozen[32];
	int fd = directory < 0 ? -errno : 0;

	(void)snprintf(pending, sizeof pending, "pending/%zu", number);
	(void)snprintf(frozen, sizeof frozen, "layers/%zu", number);
	if (fd == 0)
		fd = cli_store_open_below(directory, pending);
	if (fd == -ENOENT)
		fd = cli_store_open_below(directory, frozen);
	if (fd >= 0 && store->count == STORE_LAYERS_MAX) {
		(void)fd_close(fd);
		fd = -E2BIG;
	}
	if (fd < 0)
		return cli_store_fail(work, pending, fd, error);
	memmove(store->layers + 1, store->layers, store->count++ * sizeof *store->layers);
	store->layers[0] = fd;
	return 0;
}

static void close_later(struct store *store, size_t later)
{
	for (size_t i = 0; i < store->count; i++) {
		if (i < later)
			fd_close(store->layers[i]);
		else
			store->layers[i - later] = store->layers[i];
	}
	store->count -= later;
}

int store_go_back(const struct yett_work *work, struct store *store, size_t frozen,
                  struct yett_error *error)
{
	int r = 0;

	close_later(store, store->count > frozen + 1 ? store->count - frozen : 1);
	while (r == 0 && store->count < frozen)
		r = open_pending(work, store, store->count + 1, error);
	return r;
}

void store_close(struct store *store)
{
	while (store->count > 0)
		fd_close(store->layers[--store->count]);
	store->hidden = fd_close(store->hidden);
	store->source = fd_close(store->source);
}
