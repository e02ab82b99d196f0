/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry: one record for each sandbox, in the file that reserves its ids, and the socket of
 * its supervisor.
 *
 * Supervisors, with or without their privilege, write their own record in one call whenever its
 * state changes. Monitors read the records as root, so a list needs no answer from a supervisor. A
 * reader that finds a wrong sum has read during a write, and reads again. A reader must ignore a
 * record whose file no process has locked: the supervisor is dead.
 */
#pragma once

#include "helper/plan/order.h"
#include "helper/setup/cgroup.h"
#include "helper/setup/reserve.h"

/*
 * Each layout has another value of the low four bits (RECORD_LAYOUTS in all). After an upgrade,
 * sandboxes with another layout are swept, but not listed.
 */
#define RECORD_MAGIC   UINT32_C(0x59523037)
#define RECORD_LAYOUTS 16

/* Connections of a sandbox, as reported by yett-dialer. */
struct record_network {
	uint32_t mode; /* enum plan_network */
	uint32_t open;
	uint32_t changes; /* how often its rules were changed */
	uint64_t made, blocked, sent_bytes, received_bytes;
};

struct record {
	uint64_t sum; /* of all bytes that follow and are used */
	uint32_t magic;
	/*
	 * `uid` and `cgroup` are for the sweep: set before there is a sandbox, and at the same
	 * offset in every layout
	 */
	uid_t uid;
	char cgroup[24]; /* also the name of the supervisor's control socket */
	uint32_t state;  /* enum sandbox_state; DESTROYED: no sandbox at present */
	uint32_t ended;  /* enum ended_reason */
	char id[PLAN_ID_SIZE];
	char name[MESSAGE_NAME_MAX + 1], profile[MESSAGE_NAME_MAX + 1];
	/* the enrolled key of the request; empty: one of the user's own keys */
	char principal[MESSAGE_NAME_MAX + 1];
	char hostname[MESSAGE_NAME_MAX + 1];
	struct plan_limits limits;
	struct plan_life life;
	uint32_t private_uid;
	struct init_layers layers;
	uint32_t attached;          /* attached clients */
	struct cgroup_usage before; /* counters of its cgroup from earlier sandboxes */
	struct record_network network;
	uint32_t recorded; /* enum policy_record */
	/* the creation was reported to yett-audit, and the end must still be reported */
	bool is_audited;
	uint64_t created_ms, started_ms, ended_ms; /* CLOCK_REALTIME; 0: not yet */
	uint32_t labels_size;
	/* each with its NUL; last member, so that only the used part is written */
	char labels[PLAN_LABELS_SIZE];
};

_Static_assert(sizeof(struct record) <= 4096,
               "within a page, a process that is killed has written all of it or nothing");

/* Makes the record of a supervisor that has no sandbox yet. */
void record_init(struct record *record, uid_t uid, const char *cgroup);

/* Fills in what the plan says of its sandbox. The record must be as record_init() left it. */
void record_plan(struct record *record, const struct plan *plan);

/* Sets the sum. Returns how many bytes of the record are used. */
size_t record_seal(struct record *record);

/*
 * Returns whether bytes[0 … length) of a file start with a whole record of this layout, and copies
 * it to `ret_record`.
 */
bool record_open(const void *bytes, size_t length, struct record *ret_record);

/* Writes the record to the file of a reservation. Returns 0 or -EIO. */
int registry_write(int fd, struct record *record);

/*
 * Reads the next record of a living supervisor that has a sandbox. Returns false if there is none.
 * `entries` is fd_entries() of RESERVE_RANGES; NULL: no entries.
 */
bool registry_next(DIR *entries, struct record *ret_record);

/*
 * Counts one request of the user, or with `is_creation` one creation of a sandbox, unless `most`
 * have been counted in this minute. The user's minute starts with the first that is counted. All
 * processes of root share the counters. `now_ms` is from clock_now_ms(). Returns 0 if it was
 * counted; the seconds until the minute ends if not; or -errno.
 */
_must_check_ int registry_count(const struct reserve_host *host, uid_t uid, bool is_creation,
                                uint32_t most, uint64_t now_ms);

/*
 * Sums over all sandboxes, in a file of the runtime directory. If the file cannot be written,
 * nothing is counted.
 */
void registry_add_totals(const struct reserve_host *host, const struct message_totals *more);
void registry_read_totals(const struct reserve_host *host, struct message_totals *ret_totals);

/*
 * Makes the socket for requests about a supervisor's sandbox. Its name is that of the cgroup, and
 * its directory is root's. Returns a non-blocking listening descriptor or -errno.
 */
_must_check_ int registry_listen(const struct reserve_host *host, const char *cgroup);
void registry_unlisten(const struct reserve_host *host, const char *cgroup);

/*
 * Connects without waiting. Returns a descriptor, -EAGAIN if the queue is full, or -ENOENT or
 * -ECONNREFUSED if the supervisor is gone.
 */
_must_check_ int registry_connect(const struct reserve_host *host, const char *cgroup);

/*
 * Accepts one connection of root (or of this process's uid), non-blocking. Returns a descriptor or
 * -errno; -EPERM for a connection of another user.
 */
_must_check_ int registry_accept(int listening);
