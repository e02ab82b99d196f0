/*
 * Stores: where what a copy-on-write sandbox changes is kept, $XDG_STATE_HOME/yett/work/ID with
 * "upper", "work", "hidden", "layers", "pending", "snapshots" and "info".
 *
 * With the caller's privilege, on directories of the caller's. What lies in a store a sandbox may
 * have made: no name in it is followed, and what is read of it is checked. No program with
 * privilege reads "info" or "snapshots".
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fd.h"
#include "libclient/keyfile.h"
#include "libclient/yett.h"

#define WORK_INFO_MAX (size_t)(2 * 1024 * 1024)

/* Frozen layers at most. The kernel takes 255 bytes of names of layers at once: 64 of up to three
 * digits, with "hidden" and the source. */
#define WORK_LAYERS_MAX 62

/* One that a request is to use. */
struct work {
	struct work *next;
	char id[YETT_ID_SIZE];
	int store;             /* its directory */
	char *source, *target; /* owned */
	char *hidden; /* lines of "info" that tell of what was hidden; owned; NULL: nothing */
	uint64_t created_ms;
	uint64_t stamp_ns, uptime_ns; /* then: by the clock that files get their times from, and by
	                                 one that nobody sets */
	uint64_t device, inode;       /* of the source */
	bool is_old; /* it was there before the request, and stays when that comes to nothing */
};

/* --- work.c ----------------------------------------------------------------------------------- */

/* The directory of all stores, with its name. -1 and 0 where there is none, and none is to be made.
 */
_must_check_ int work_open_all(bool make, int *ret_works, char path[KEYFILE_PATH_SIZE],
                               struct yett_error *error);

/*
 * Whether a directory may be the source of a copy-on-write share, by what the caller can tell: it
 * is the caller's, on a file system that can be a layer, and there is or will be no store in it or
 * around it; with changes in memory, none around it; and no session in either case. `name` is what
 * the share is called in the error, and `state` where the caller keeps stores and sessions: filled
 * in where it is empty, so that the shares of a request need not look up the caller's home each.
 */
_must_check_ int work_check_source(char state[KEYFILE_PATH_SIZE], int source, const char *name,
                                   bool in_memory, struct yett_error *error);

/* Makes a store over `source`. The work goes to the front of `*works`. */
_must_check_ int work_make(int source, const char *target, struct work **works,
                           struct yett_error *error);

/* A directory that is to be as `like` for who looks at it: with its mode, and its group where the
 * caller may give it that. 0 or -errno. */
_must_check_ int work_make_like(int parent, const char *name, const struct stat *like);

/* The request came to a sandbox: they stay, and tell of it. Or it did not: those that were made for
 * it are removed. Frees both. */
void work_keep(struct work **works, const char *sandbox, const char *name);
void work_drop(struct work **works);

/*
 * Refuses a share inside the stores or sessions, and a writable one that contains them: a sandbox
 * could change the layers of another one, or how a session is made again. `name` and `state` as
 * above.
 */
_must_check_ int work_check_share(char state[KEYFILE_PATH_SIZE], int fd, bool is_written,
                                  const char *name, struct yett_error *error);

/* --- work_info.c ------------------------------------------------------------------------------ */

/* What a store tells of itself; texts belong to who was named as owner. */
struct work_info {
	const char *source, *target, *sandbox, *boot; /* empty: it does not tell; the sandbox also
	                                                 of a fork that none has worked on */
	const char *name; /* of that sandbox; empty also where it had none */
	const char **hidden;
	size_t hidden_count;
	uint64_t created_ms, device, inode;
	bool is_complete;
	bool is_earlier_boot; /* in which it was used last */
};

/* Where it tells nothing that we wrote, nothing is known. False: no memory. */
_must_check_ bool work_read_info(int store, void *owner, struct work_info *ret_info);
_must_check_ int work_write_info(const struct work *work, const char *sandbox,
                                 const char *name); /* 0 or -errno */

/* Whether something in the store is what a sandbox, a snapshot or an apply has left; also where
 * that cannot be looked at. */
bool work_is_changed(int store);

_must_check_ int work_copy_info(int from, int to); /* of one store to a fork of it; 0 or -errno */

void work_new_id(char id[static YETT_ID_SIZE]);
bool work_is_id(const char *name);

/* --- work_reuse.c ----------------------------------------------------------------------------- */

/* Opens a store of the caller's that is there. YETT_E_NOT_FOUND; YETT_E_SECURITY_VIOLATION: it is
 * not the caller's alone. */
_must_check_ int work_open(const char *id, int *ret_store, struct yett_error *error);

/* Whether a sandbox works on it; or the lock that says so is taken, until `store` is closed:
 * YETT_E_INVALID_REQUEST where one does. */
bool work_is_used(int store);
_must_check_ int work_lock(int store, const char *id, struct yett_error *error);
#define WORK_LOCK_TRIES 100 /* a millisecond each */

/*
 * A store for a sandbox once more: finds it, at the front of `*works`, with its source and target;
 * and makes it ready, over `source`, which has to be the directory that it is about. `name` as
 * above.
 */
_must_check_ int work_find(const char *id, struct work **works, struct yett_error *error);
_must_check_ int work_reuse(struct work *work, int source, const char *name, const char *target,
                            struct yett_error *error);

/* --- work_hide.c ------------------------------------------------------------------------------ */

/* Makes the layer that hides what is called as in `hide`, and not as in `show`: work_glob.h. Of one
 * that was made for a request. */
_must_check_ int work_hide(struct work *work, int source, const char *name, const char *const *hide,
                           const char *const *show, struct yett_error *error);

/* --- work_apply.c ----------------------------------------------------------------------------- */

/*
 * Whether no yett apply works on the store, or has ended half-way with what it took out of the
 * source. *ret_lock keeps others from beginning, -1 where there has never been one.
 * YETT_E_INVALID_REQUEST
 */
_must_check_ int work_hold_apply(int store, const char *id, int *ret_lock,
                                 struct yett_error *error);
_must_check_ int work_check_apply(int store, const char *id,
                                  struct yett_error *error); /* the same, for the moment */

/*
 * Before a store goes that is held so: removes what an apply that was killed while it staged has
 * left in the directory that the store is about. `works` is where the stores are.
 * YETT_E_INVALID_REQUEST: the store keeps what belongs there; YETT_E_FILE_OPERATION_FAILED: it
 * cannot be removed.
 */
_must_check_ int work_leave_source(int store, const char *works, const char *id,
                                   struct yett_error *error);

/* --- work_remove.c ---------------------------------------------------------------------------- */

/* Removes the store `id` below `works`, of which `store` is the directory. 0 or -errno. */
_must_check_ int work_remove(int works, const char *id, int store);

/* Removes what `name` is in a store, with all that is in it; or nothing, where there is none. 0 or
 * -errno. */
_must_check_ int work_remove_part(int store, const char *name);

/* Whether `name` is a directory without anything in it, or nothing at all. */
bool work_is_empty(int directory, const char *name);

/* A directory by its name in `parent`, and by nothing else, which the caller can read, whatever
 * mode it has. A descriptor or -errno. */
_must_check_ int work_open_own(int parent, const char *name, int flags);
