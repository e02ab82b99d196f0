/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frozen layers of a store, "layers/1" and so on without gaps, and the names of its snapshots,
 * in "snapshots": see work.h. A snapshot consists of all layers up to one of them. Layers above the
 * last one in "layers" are in "pending": see work_pending.h.
 *
 * Runs with the caller's privilege, under the lock of a store that no sandbox works on. Every step
 * is one rename, after which the store shows either what it showed before or what it shall show:
 * nothing has to be completed after a kill.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "workspace/yett-workspace.h"

#define LAYERS_NAMES_MAX 256
#define LAYERS_NAME_SIZE 64

struct layers_name {
	char name[LAYERS_NAME_SIZE];
	unsigned layer; /* the last layer of the snapshot; 0: none, only the source */
	uint64_t created_ms;
	char boot[40]; /* id of the boot in which the snapshot was taken; empty: unknown */
};

struct layers {
	int store; /* holds the store's lock, unless a sandbox has it; owned */
	/*
	 * Keeps others from changing layers and names, also while a sandbox works on the store;
	 * owned.
	 */
	int lock;
	int directory;         /* "layers"; -1: there is none */
	int pending_directory; /* "pending"; -1: there is none */
	bool is_used;
	unsigned count; /* number of layers in "layers" */
	/*
	 * Number of layers in "pending", numbered after those in "layers"; 0 while no sandbox works
	 * on the store.
	 */
	unsigned pending;
	struct layers_name names[LAYERS_NAMES_MAX];
	size_t names_count;
	char id[YETT_ID_SIZE];
};

/*
 * "snapshots" is a directory of symbolic links. A link's name is the snapshot's, and its target is
 * the text "LAYER CREATED BOOT", which no program follows as a path. A process that changes layers
 * or names locks this directory (flock(2)).
 */
#define LAYERS_NAMES   "snapshots"
#define LAYERS_PENDING "pending"
#define LAYERS_FRESH   "fresh" /* in the store: a directory that will become a layer */

/*
 * Opens and locks a store, and reads its layers and names. With `even_used` a store that a sandbox
 * works on is opened without the lock that the sandbox holds. If no sandbox works on the store,
 * settles pending layers. Call layers_close() in every case.
 */
_must_check_ int layers_open(struct layers *layers, const char *id, bool even_used,
                             struct yett_error *error);
void layers_close(struct layers *layers);

/*
 * Parts of layers_open(), for a store that is open already: layers_begin() initializes,
 * layers_lock() takes the lock of layers and names.
 */
void layers_begin(struct layers *layers, int store, const char *id);
_must_check_ int layers_lock(struct layers *layers, struct yett_error *error);

/* Reads the layers and names of a store, which need not be locked. */
_must_check_ int layers_read(struct layers *layers, struct yett_error *error);

/* NULL: there is no such snapshot. */
struct layers_name *layers_find(struct layers *layers, const char *name);

/* Writes the number of a layer as its name in "layers". */
#define LAYERS_NUMBER_SIZE 16
void layers_number(unsigned layer, char name[static LAYERS_NUMBER_SIZE]);

/* The directory that contains the layer; -1: there is none. Borrowed. */
int layers_place(const struct layers *layers, unsigned layer);

/*
 * Freezes the changes since the last layer, if there are any. Returns the number of the last layer,
 * or -errno; -E2BIG: there are too many layers.
 */
_must_check_ int layers_freeze(struct layers *layers);

/*
 * Restores what the store showed when it had `count` layers; everything later is removed. Returns 0
 * or -errno.
 */
_must_check_ int layers_cut(struct layers *layers, unsigned count);

/*
 * Merges layers that no snapshot needs separately. Returns 0, or -errno and in `failed` the path
 * that could not be copied.
 */
_must_check_ int layers_squash(struct layers *layers, char *failed, size_t failed_size);

/*
 * layers_set_name() names a layer as a snapshot, in the store; layers_forget_name() removes a name.
 * Return 0 or -errno.
 */
_must_check_ int layers_set_name(const struct layers *layers, const struct layers_name *name);
_must_check_ int layers_forget_name(const struct layers *layers, const char *name);

/* --- for work_pending.c ----------------------------------------------------------------------- */

bool layers_is_empty(int directory);
/* Makes it if it does not exist. */
_must_check_ int layers_open_directory(struct layers *layers);

/*
 * Makes the empty directory LAYERS_FRESH with the group and mode of `like`, plus all permissions of
 * the owner, so that it can be moved. Returns 0 or -errno.
 */
_must_check_ int layers_make_fresh(const struct layers *layers, const struct stat *like);

/*
 * Removes layers whose number is above `count`, and names of layers that do not exist. A process
 * that was killed in layers_cut() leaves these; otherwise new layers would take them over. Returns
 * 0 or -errno.
 */
_must_check_ int layers_drop_orphans(struct layers *layers);
