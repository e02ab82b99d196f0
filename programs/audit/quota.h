/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Quota counters for each user: bytes of records in a day, and refusals in a minute, of which only
 * the first get their own record. Pure, without privilege; part of yett-audit. Times are
 * CLOCK_BOOTTIME in milliseconds.
 *
 * The table has a fixed size. If there are more users than rows, a new user takes over the row with
 * the fewest bytes, including its count: so no bytes are ever forgotten, and nobody is charged for
 * more than a QUOTA_USERS-th of all bytes in addition to their own ("Space-Saving", Metwally et
 * al.).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QUOTA_USERS       1024
#define QUOTA_REFUSED_MAX 20 /* refusals of a user that get their own record in a minute */
#define QUOTA_DAY_MS      UINT64_C(86400000)

struct quota_row {
	uint32_t uid;
	bool is_used;
	uint32_t refused; /* refusals with their own record in this minute */
	uint64_t merged;  /* refusals without their own record */
	uint64_t first_ms, last_ms;
	uint64_t bytes;       /* of records in this day */
	uint64_t short_bytes; /* of shortened records in this day */
	uint64_t dropped;     /* events of sandboxes that were not recorded because of the quota */
};

/* Changes with the layout: a table with another value is discarded. */
#define QUOTA_LAYOUT UINT64_C(0x7461606c79000002)

struct quota {
	uint64_t layout;
	uint64_t max_bytes; /* 0: no limit */
	uint64_t day_ends_ms;
	/* must be last; rows are used in order: see quota_size() */
	struct quota_row rows[QUOTA_USERS];
};

/* Bytes of the table in use, which is all that must be kept for the next process. */
size_t quota_size(const struct quota *quota);

/*
 * Continues with the `size` kept bytes that the caller has read into the struct (0: none). Discards
 * counters of another layout, and counters whose day ends more than a day from now, which were
 * saved before a reboot.
 */
void quota_go_on(struct quota *quota, size_t size, uint64_t max_bytes, uint64_t now_ms);

/*
 * The row of a user. NULL: the row that would be reused has unrecorded counters; record those
 * first, see quota_merged().
 */
struct quota_row *quota_find(struct quota *quota, uint32_t uid, uint64_t now_ms);

/*
 * Charges a record to the user, if the quota has room. Shortened records have a second quota of the
 * same size, so that a user cannot hide the creation of a sandbox by using up the first.
 */
bool quota_take(struct quota *quota, struct quota_row *row, size_t bytes, bool is_short);

/*
 * The same for events in a sandbox, which may use only half of the quota; the rest is for requests.
 */
bool quota_take_event(struct quota *quota, struct quota_row *row, size_t bytes);

/* Counts a refusal. Returns whether it gets its own record. */
bool quota_refused(struct quota_row *row, uint64_t now_ms);

/*
 * The next row, from `from` on, with merged refusals or dropped events; NULL: none. The caller
 * records both counts and resets them to 0.
 */
struct quota_row *quota_merged(struct quota *quota, size_t from);

/* Begins a minute: users get their refusal records again. Record the merged refusals first. */
void quota_minute(struct quota *quota);
