/*
 * Reservations below the runtime directory: one file for each private range, each slot of a user,
 * and each name.
 *
 * With full privilege, in the supervisor. A reservation is an O_EXCL file that its owner keeps
 * locked (fcntl(2) lock: it goes with the process, whatever kills it), so whoever finds a file
 * without a lock may sweep what it stood for. No lock is held across steps. The file of a range is
 * also the record of its sandbox: registry.h.
 */
#pragma once

#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

/* Directories below RUNTIME_DIR, and itself. */
enum reserve_dir {
	RESERVE_RUNTIME,
	RESERVE_RANGES,  /* ids */
	RESERVE_SLOTS,   /* users */
	RESERVE_NAMES,   /* names */
	RESERVE_CONTROL, /* control: sockets of supervisors */
	RESERVE_DIRS
};

struct reserve_host {
	int dirs[RESERVE_DIRS];
	uint32_t ids_first; /* of range 0, which is the roles' own */
	uint32_t ids_ranges;
};
#define RESERVE_HOST_NONE ((struct reserve_host){.dirs = {[0 ... RESERVE_DIRS - 1] = -1}})

struct record;

/* A file that this process made and holds. */
struct reservation {
	int fd;  /* locked; -1: none */
	int dir; /* borrowed */
	char name[80];
};

/* Makes and opens the directories (0700, root's). 0, -errno; the path of RUNTIME_DIR is the
 * administrator's. */
_must_check_ int reserve_host_open(const char *runtime_dir, uint32_t ids_first, uint32_t ids_ranges,
                                   struct reserve_host *ret_host, struct yett_error *error);
void reserve_host_close(struct reserve_host *host);

/*
 * Takes a range that was not used for as long as there are others: a range is handed out again only
 * after all others had their turn. Writes a record with the user and the name of its cgroup into
 * it, for the sweep. 0, -errno, or RESOURCE_LIMIT when all are taken.
 */
_must_check_ int reserve_range(const struct reserve_host *host, uid_t uid, const char *cgroup_name,
                               struct reservation *ret_reservation, uint32_t *ret_index,
                               struct yett_error *error);

/* Whose: sandboxes and set-user-id helpers of a user are counted apart. Helpers' are held by a
 * process that is not to sweep. */
enum reserve_slot_of { RESERVE_SLOT_OF_SANDBOX, RESERVE_SLOT_OF_HELPER };

/* Takes one of `max` slots of `uid` (0: no bound, no file). 0, -errno, or RESOURCE_LIMIT when all
 * are taken. */
_must_check_ int reserve_slot(const struct reserve_host *host, uid_t uid, enum reserve_slot_of of,
                              uint32_t max, struct reservation *ret_reservation,
                              struct yett_error *error);

/*
 * Takes the id of a decider, so that what the kernel counts by user it counts for that one alone. A
 * descriptor that holds it, until that and all its copies are closed; or -errno: -EAGAIN when all
 * are taken.
 */
_must_check_ int reserve_decider(const struct reserve_host *host, uint32_t *ret_number);

/* Takes a name among those of `uid`. 0, -errno, or ALREADY_EXISTS. */
_must_check_ int reserve_name(const struct reserve_host *host, uid_t uid, const char *name,
                              struct reservation *ret_reservation, struct yett_error *error);

/* Removes the file and lets the lock go. Takes one that holds nothing. */
void reserve_release(struct reservation *reservation);

/*
 * Looks through all of them for files whose owner is gone; calls `sweep` for each such range, with
 * a record of which only the user and the name of the cgroup are sure, and whether its end is to be
 * told, and removes the file when that returns 0. Returns how many were removed. Not for a process
 * that holds reservations itself: closing a file lets go of the locks that the process has on it.
 */
int reserve_sweep(const struct reserve_host *host,
                  int (*sweep)(void *userdata, const struct record *record), void *userdata);
