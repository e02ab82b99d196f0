/*
 * Stores: where what a copy-on-write sandbox changes is kept, $XDG_STATE_HOME/yett/work/ID with "upper", "work" and "info".
 *
 * With the caller's privilege, on directories of the caller's. What lies in a store a sandbox may have made: no name in it is followed, and
 * what is read of it is checked. No program with privilege reads "info".
 */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "libclient/yett.h"

/* One that was made for a request. */
struct work {
	struct work *next;
	char id[YETT_ID_SIZE];
	int store;             /* its directory */
	char *source, *target; /* owned */
	uint64_t created_ms;
	uint64_t stamp_ns, uptime_ns; /* then: by the clock that files get their times from, and by one that nobody sets */
	uint64_t device, inode; /* of the source */
};

/*
 * Whether a directory may be the source of a copy-on-write share, by what the caller can tell: it is the caller's, on a file system that
 * can be a layer, and there is or will be no store in it or around it; with changes in memory, none around it. `name` is what the share is
 * called in the error.
 */
_must_check_ int work_check_source(int source, const char *name, bool in_memory, struct yett_error *error);

/* Makes a store over `source`. The work goes to the front of `*works`. */
_must_check_ int work_make(int source, const char *target, struct work **works, struct yett_error *error);

/* The request came to a sandbox: they stay, and tell of it. Or it did not: they are removed. Frees both. */
void work_keep(struct work **works, const char *sandbox);
void work_drop(struct work **works);

/*
 * Whether a share may be what `fd` is: that it neither holds stores nor lies in one, or who gets it could change the layers of a sandbox
 * that runs. `name` as above.
 */
_must_check_ int work_check_share(int fd, const char *name, struct yett_error *error);

/*
 * work_apply.c: whether no yett apply works on the store, or has ended half-way with what it took out of the source. *ret_lock keeps others
 * from beginning, -1 where there has never been one. YETT_E_INVALID_REQUEST
 */
_must_check_ int work_hold_apply(int store, const char *id, int *ret_lock, struct yett_error *error);

/* work_remove.c: removes the store `id` below `works`, of which `store` is the directory. 0 or -errno. */
_must_check_ int work_remove(int works, const char *id, int store);
