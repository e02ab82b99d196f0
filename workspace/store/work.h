/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores: the directories $XDG_STATE_HOME/yett/work/ID, which keep what copy-on-write sandboxes
 * change. A store has "upper", "work", "hidden", "layers", "pending", "snapshots", "apply" and
 * "info".
 *
 * Runs with the caller's privilege, on directories of the caller. A sandbox may have made the
 * contents of a store: no symbolic link in it is followed, and what is read from it is checked. No
 * privileged program reads "info" or "snapshots".
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/home.h"
#include "libclient/workspace.h"
#include "workspace/yett-workspace.h"

#define WORK_INFO_MAX (size_t)(2 * 1024 * 1024)

/*
 * The most frozen layers of a store. The kernel accepts 255 bytes of layer names at once: 64 names
 * of up to three digits, including "hidden" and the source.
 */
#define WORK_LAYERS_MAX 62

/* A store that a request uses. */
struct work {
	struct work *next;
	char id[YETT_ID_SIZE];
	int store;             /* descriptor of its directory */
	char *source, *target; /* owned */
	char *hidden;          /* lines of "info" that list the hidden paths; owned; NULL: none */
	uint64_t created_ms;
	/*
	 * Time of creation: by the clock that file timestamps use, and by CLOCK_BOOTTIME, which
	 * nobody sets.
	 */
	uint64_t stamp_ns, uptime_ns;
	uint64_t device, inode; /* of the source; device 0: unknown */
	bool is_old; /* the store existed before the request, and stays if the request fails */
};

/* --- work.c ----------------------------------------------------------------------------------- */

/*
 * Opens the directory of all stores and writes its path to `path`. If it does not exist, `make`
 * makes it; otherwise *ret_works is -1 and the function returns 0.
 */
_must_check_ int work_open_all(bool make, int *ret_works, char path[HOME_PATH_SIZE],
                               struct yett_error *error);

/* Makes a store over `source`, and puts it at the front of `*works`. */
_must_check_ int work_make(int source, const char *target, struct work **works,
                           struct yett_error *error);

/*
 * Makes a directory with the mode of `like`, and with its group if the caller may set that. Returns
 * 0 or -errno.
 */
_must_check_ int work_make_like(int parent, const char *name, const struct stat *like);

/*
 * work_keep(): the request made a sandbox; the stores stay, and their "info" names that sandbox.
 * work_drop(): the request failed; removes the stores that were made for it. Both free the list.
 */
void work_keep(struct work **works, const char *sandbox, const char *name);
void work_drop(struct work **works);

/* --- work_info.c ------------------------------------------------------------------------------ */

/* The contents of "info". The texts belong to the owner that was passed to work_read_info(). */
struct work_info {
	/* Empty: unknown; `sandbox` is also empty for a fork that no sandbox has worked on. */
	const char *source, *target, *sandbox, *boot;
	const char *name; /* of that sandbox; empty: unknown or none */
	const char **hidden;
	size_t hidden_count;
	uint64_t created_ms, device, inode;
	bool is_complete;
	bool is_earlier_boot; /* the store was last used in an earlier boot */
};

/*
 * work_read_info() reads "info". If it is not in the form that this library writes, all members are
 * empty. False: no memory. work_write_info() replaces "info".
 */
_must_check_ bool work_read_info(int store, void *owner, struct work_info *ret_info);
_must_check_ int work_write_info(const struct work *work, const char *sandbox,
                                 const char *name); /* 0 or -errno */

/*
 * Returns whether the store holds anything that a sandbox, a snapshot or an apply left. Returns
 * true if that cannot be found out.
 */
bool work_is_changed(int store);

_must_check_ int work_copy_info(int from, int to); /* from a store to its fork; 0 or -errno */

void work_new_id(char id[static YETT_ID_SIZE]);

/* --- work_reuse.c ----------------------------------------------------------------------------- */

/*
 * Opens an existing store. YETT_E_NOT_FOUND. YETT_E_SECURITY_VIOLATION: it belongs to another user,
 * or others may use it.
 */
_must_check_ int work_open(const char *id, int *ret_store, struct yett_error *error);

/*
 * work_is_used() returns whether a sandbox works on the store. work_lock() takes the lock by which
 * a sandbox marks the store as used; closing `store` releases it. YETT_E_INVALID_REQUEST: a sandbox
 * holds it.
 */
bool work_is_used(int store);
_must_check_ int work_lock(int store, const char *id, struct yett_error *error);
#define WORK_LOCK_TRIES 100 /* one per millisecond */

/*
 * Use an existing store for another sandbox. work_find() opens it and puts it at the front of
 * `*works`, with its source and target. work_reuse() prepares it over `source`, which must be the
 * directory that the store was made for. `name` names the share in the error.
 */
_must_check_ int work_find(const char *id, struct work **works, struct yett_error *error);
_must_check_ int work_reuse(struct work *work, int source, const char *name, const char *target,
                            struct yett_error *error);

/* --- work_hide.c ------------------------------------------------------------------------------ */

/*
 * Makes the layer that hides the names and paths that match `hide` and do not match `show`
 * (work_glob.h), in a store that was made for a request. `name` names the share in the error.
 */
_must_check_ int work_hide(struct work *work, int source, const char *name, const char *const *hide,
                           const char *const *show, struct yett_error *error);

/* --- work_apply.c ----------------------------------------------------------------------------- */

/*
 * work_hold_apply() takes the lock of yett apply; *ret_lock keeps other applies from starting, and
 * is -1 if there has never been one. YETT_E_INVALID_REQUEST: an apply works on the store, or ended
 * half-way and still keeps files that it took out of the source. work_check_apply() checks the same
 * and releases the lock.
 */
_must_check_ int work_hold_apply(int store, const char *id, int *ret_lock,
                                 struct yett_error *error);
_must_check_ int work_check_apply(int store, const char *id, struct yett_error *error);

/*
 * Call this before removing a store that is held by work_hold_apply(). Removes from the source
 * directory what an apply left there if it was killed while it staged files. `works` is the path of
 * the directory of stores. YETT_E_INVALID_REQUEST: the store keeps files that belong into the
 * source. YETT_E_FILE_OPERATION_FAILED: a file cannot be removed.
 */
_must_check_ int work_leave_source(int store, const char *works, const char *id,
                                   struct yett_error *error);

/* --- work_remove.c ---------------------------------------------------------------------------- */

/*
 * Removes the store `id` from the directory `works`. `store` is the store's directory. Returns 0 or
 * -errno.
 */
_must_check_ int work_remove(int works, const char *id, int store);

/*
 * Removes `name` from a store, with everything in it. Does nothing if it does not exist. Returns 0
 * or -errno.
 */
_must_check_ int work_remove_part(int store, const char *name);

/* Returns whether `name` is an empty directory or does not exist. */
bool work_is_empty(int directory, const char *name);

/*
 * Opens the directory `name` in `parent`, without following links or crossing a mount. Sets its
 * mode to 0700 if its owner lacks a permission. Returns a descriptor or -errno.
 */
_must_check_ int work_open_own(int parent, const char *name, int flags);
