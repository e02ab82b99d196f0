/*
 * What each user has caused: bytes of records in a day, and refusals in a minute, of which not each
 * gets a record of its own.
 *
 * A table of fixed size. Where more users come than it has rows, a new one takes the row of who has
 * the fewest bytes, and what that one had counts for the new one: nobody's bytes are ever
 * forgotten, and nobody is charged for more than TALLY_USERS-th of all bytes besides their own
 * ("Space-Saving", Metwally et al.). Pure, without privilege: of yett-audit. The time is
 * CLOCK_BOOTTIME in milliseconds.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_USERS       1024
#define TALLY_REFUSED_MAX 20 /* refusals of a user that get a record each, in a minute */
#define TALLY_DAY_MS      UINT64_C(86400000)

struct tally_row {
	uint32_t uid;
	bool is_used;
	uint32_t refused; /* in this minute, with the merged ones */
	uint64_t merged;  /* those without a record */
	uint64_t first_ms, last_ms;
	uint64_t bytes;       /* in this day */
	uint64_t short_bytes; /* of records that were cut short since then */
	uint64_t dropped;     /* events of sandboxes without a record: there was no room for it */
};

/* changes with the layout: a table of another layout is discarded */
#define TALLY_LAYOUT UINT64_C(0x7461606c79000002)

struct tally {
	uint64_t layout;
	uint64_t max_bytes; /* 0: no bound */
	uint64_t day_ends_ms;
	struct tally_row rows[TALLY_USERS]; /* last, and used from the first on: tally_size() */
};

/* How many of its bytes are used: all that has to be kept to go on with it. */
size_t tally_size(const struct tally *tally);

/* Goes on with so many bytes that were kept (0: none), which are in it. Those of another day, or of
 * before a reboot, count for nothing. */
void tally_go_on(struct tally *tally, size_t size, uint64_t max_bytes, uint64_t now_ms);

/* The row of a user; NULL: one with something to tell would have to give way, which tally_merged()
 * finds first. */
struct tally_row *tally_find(struct tally *tally, uint32_t uid, uint64_t now_ms);

/*
 * Whether a record of so many bytes may be written for the user, whose bytes it is then. Records
 * that were cut short have as much room again, so that nobody hides a sandbox behind others.
 */
bool tally_take(struct tally *tally, struct tally_row *row, size_t bytes, bool is_short);

/* The same of what happened in a sandbox, which leaves half of the room to what is asked for. */
bool tally_take_event(struct tally *tally, struct tally_row *row, size_t bytes);

/* Counts a refusal: whether it gets a record. */
bool tally_refused(struct tally_row *row, uint64_t now_ms);

/* The next row from `from` on with merged refusals, or what was dropped; NULL. The caller tells of
 * both, and sets them to 0. */
struct tally_row *tally_merged(struct tally *tally, size_t from);

/* A minute begins: all have their refusals again. Only when nothing is merged. */
void tally_minute(struct tally *tally);
