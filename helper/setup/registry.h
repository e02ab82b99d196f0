/*
 * The registry: what is known of each sandbox, in the file that reserves its ids; and where its
 * supervisor is reached.
 *
 * A supervisor, with or without its privilege, writes its own record in one call whenever its state
 * changes. Monitors, as root, read: nobody is asked or woken to make a list. A record whose sum is
 * not right was read while it was written, and is read again; one that no process has locked was
 * left by a supervisor that is gone, and does not count.
 */
#pragma once

#include "helper/plan/order.h"
#include "helper/plan/plan.h"
#include "helper/setup/cgroup.h"
#include "helper/setup/reserve.h"

/* Another layout, another number, of which the last 16 are one's own: sandboxes of before an
 * upgrade are not told of, but swept. */
#define RECORD_MAGIC   UINT32_C(0x59523037)
#define RECORD_LAYOUTS 16

/* Of its connections, as yett-dialer says. */
struct record_network {
	uint32_t mode; /* enum plan_network */
	uint32_t open;
	uint32_t changes; /* so often its rules were changed */
	uint64_t made, blocked, sent_bytes, received_bytes;
};

struct record {
	uint64_t sum; /* of all that follows and is used */
	uint32_t magic;
	uid_t uid;       /* for the sweep, with the next, and so at its place in every layout; known
	                    before there is a sandbox */
	char cgroup[24]; /* also the name of the supervisor's control socket */
	uint32_t state;  /* enum sandbox_state; DESTROYED: no sandbox now */
	uint32_t ended;  /* enum ended_reason */
	char id[PLAN_ID_SIZE];
	char name[MESSAGE_NAME_MAX + 1], profile[MESSAGE_NAME_MAX + 1];
	char principal[MESSAGE_NAME_MAX +
	               1]; /* the enrolled key that asked; empty: one of the user's own */
	char hostname[MESSAGE_NAME_MAX + 1];
	struct plan_limits limits;
	struct plan_life life;
	uint32_t private_uid;
	struct init_layers layers;
	uint32_t attached;          /* connections that hold it */
	struct cgroup_usage before; /* what its cgroup had counted for earlier sandboxes */
	struct record_network network;
	uint32_t recorded; /* enum policy_record */
	bool is_audited;   /* that it was made; that it ended is still to be told */
	uint64_t created_ms, started_ms, ended_ms; /* CLOCK_REALTIME; 0: not yet */
	uint32_t labels_size;
	char labels[PLAN_LABELS_SIZE]; /* each with its NUL; last, so that only the used part is
	                                  written */
};

_Static_assert(sizeof(struct record) <= 4096,
               "within a page, a process that is killed has written all of it or nothing");

/* The record of a supervisor that has no sandbox yet. */
void record_init(struct record *record, uid_t uid, const char *cgroup);

/* Fills in what the plan says of its sandbox; the record is as record_init() left it. */
void record_plan(struct record *record, const struct plan *plan);

/* How many bytes of it are used, with its sum set. */
size_t record_seal(struct record *record);

/* Whether bytes[0 … length) of a file are a whole record of this layout; then it is in
 * `ret_record`. */
bool record_open(const void *bytes, size_t length, struct record *ret_record);

/* Writes it to the file of a reservation. */
int registry_write(int fd, struct record *record);

/*
 * The next record of a living supervisor that has a sandbox; false when there is no other.
 * `entries` are fd_entries() of RESERVE_RANGES; NULL: there is none.
 */
bool registry_next(DIR *entries, struct record *ret_record);

/*
 * Counts one more of what the user asks for, sandboxes or anything, where that is at most `most` in
 * a minute, which begins with the first that is counted. There is one count for all processes of
 * root's. `now_ms` is of clock_now_ms(). 0; how many seconds are to pass before it is counted; or
 * -errno.
 */
_must_check_ int registry_count(const struct reserve_host *host, uid_t uid, bool is_creation,
                                uint32_t most, uint64_t now_ms);

/* What all sandboxes came to, in a file of the runtime directory. Where it cannot be written, it is
 * not counted. */
void registry_add_totals(const struct reserve_host *host, const struct message_totals *more);
void registry_read_totals(const struct reserve_host *host, struct message_totals *ret_totals);

/*
 * The socket on which a supervisor is asked about its sandbox. Its name is the cgroup's; root's
 * alone. A listening non-blocking descriptor or -errno.
 */
_must_check_ int registry_listen(const struct reserve_host *host, const char *cgroup);
void registry_unlisten(const struct reserve_host *host, const char *cgroup);

/* Connects without waiting: a descriptor, -EAGAIN when too many are before us, -ENOENT or
 * -ECONNREFUSED when it is gone. */
_must_check_ int registry_connect(const struct reserve_host *host, const char *cgroup);

/* Accepts one connection of root's (or of our own uid's), non-blocking; -errno when there is none
 * such. */
_must_check_ int registry_accept(int listening);
