/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reservations below the runtime directory: one file for each private range, each slot of a user,
 * and each name. With full privilege, in the supervisor.
 *
 * The owner of a reservation keeps its file locked with fcntl(2). The kernel drops that lock when
 * the process dies for whatever reason. So a process that finds a file without a lock may sweep
 * what the file stands for. No function here may return with a lock on anything but a reservation
 * that it took. The file of a range is also the record of its sandbox: registry.h.
 */
#pragma once

#include "base/error.h"

#include <sys/types.h>

/* RUNTIME_DIR itself, and directories below it. */
enum reserve_dir {
	RESERVE_RUNTIME,
	RESERVE_RANGES,  /* ids */
	RESERVE_SLOTS,   /* users */
	RESERVE_NAMES,   /* names */
	RESERVE_CONTROL, /* sockets of supervisors */
	RESERVE_DIRS
};

struct reserve_host {
	int dirs[RESERVE_DIRS];
	uint32_t ids_first; /* first id of range 0, which belongs to enum idmap_role */
	uint32_t ids_ranges;
};
#define RESERVE_HOST_NONE ((struct reserve_host){.dirs = {[0 ... RESERVE_DIRS - 1] = -1}})

struct record;

/* A file that this process made and keeps locked. */
struct reservation {
	int fd;  /* locked; -1: none */
	int dir; /* borrowed */
	char name[80];
};

/*
 * Makes and opens RUNTIME_DIR (mode 0755, path from the policy) and the directories below it
 * (0700; "empty" 0555). All must belong to this process's user, and no other user may write to
 * them. Returns 0 or -errno.
 */
_must_check_ int reserve_host_open(const char *runtime_dir, uint32_t ids_first, uint32_t ids_ranges,
                                   struct reserve_host *ret_host, struct yett_error *error);
void reserve_host_close(struct reserve_host *host);

/*
 * Opens a file of the runtime directory that outlives its writers, and makes it if it does not
 * exist. Returns a descriptor, or -1 with errno set.
 */
int reserve_open_file(const struct reserve_host *host, const char *name);

/*
 * Takes a range. A range is handed out again only after all other free ranges have been. Writes a
 * record with the user and the cgroup's name to its file, for the sweep. Returns 0, -errno, or
 * RESOURCE_LIMIT if all ranges are taken.
 */
_must_check_ int reserve_range(const struct reserve_host *host, uid_t uid, const char *cgroup_name,
                               struct reservation *ret_reservation, uint32_t *ret_index,
                               struct yett_error *error);

/*
 * Sandboxes and set-user-id helpers of a user are counted separately. A process that holds a
 * helper's slot must not sweep.
 */
enum reserve_slot_of { RESERVE_SLOT_OF_SANDBOX, RESERVE_SLOT_OF_HELPER };

/*
 * Takes one of `max` slots of `uid`; with 0 there is no limit and no file. Returns 0, -errno, or
 * RESOURCE_LIMIT if all are taken.
 */
_must_check_ int reserve_slot(const struct reserve_host *host, uid_t uid, enum reserve_slot_of of,
                              uint32_t max, struct reservation *ret_reservation,
                              struct yett_error *error);

/*
 * Takes an id for a decider that no other decider has, so that no other one uses up what the kernel
 * counts by user. Returns a descriptor, -EAGAIN if all are taken, or -errno. The id is held until
 * all copies of the descriptor are closed.
 */
_must_check_ int reserve_decider(const struct reserve_host *host, uint32_t *ret_number);

/* Takes a name among those of `uid`. Returns 0, -errno, or ALREADY_EXISTS. */
_must_check_ int reserve_name(const struct reserve_host *host, uid_t uid, const char *name,
                              struct reservation *ret_reservation, struct yett_error *error);

/* Removes the file and drops the lock. Does nothing for a reservation with fd -1. */
void reserve_release(struct reservation *reservation);

/*
 * Looks for files whose owner is dead, and removes them. For a range it calls `sweep` first, and
 * removes the file only if that returns 0. The record is reliable only in the user, the cgroup's
 * name and is_audited; if that is set, all of it is. Returns the number of files removed. Must not
 * be called by a process that holds reservations: closing any descriptor of a file drops all locks
 * that the process has on that file.
 */
int reserve_sweep(const struct reserve_host *host,
                  int (*sweep)(void *userdata, const struct record *record), void *userdata);
