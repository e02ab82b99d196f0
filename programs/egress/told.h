/*
 * What the dialer has to tell the supervisor: alike ones are merged, so that a sandbox cannot flood
 * who hears of it.
 *
 * Pure but for what it keeps; the time is the caller's. The first of its kind is due at once, and
 * what is like it within the next second is due as one when that is over. What finds no room is
 * counted as lost; of what went through connections the bytes are told in any case.
 */
#pragma once

#include "programs/egress/egress.h"

#define TOLD_MAX      64
#define TOLD_ALIKE_MS 1000
/* so many of the kinds that cost a sandbox nothing leave room for the others */
#define TOLD_REFUSED_MAX (TOLD_MAX / 2)

struct told_entry {
	bool is_used;
	uint64_t due_ms;         /* when it may go; with a count of 0: when it is forgotten */
	struct egress_told told; /* count 0: the first one has gone, and none like it came since */
};

struct told {
	struct told_entry entries[TOLD_MAX];
	struct egress_told rest; /* CLOSED, of those for which there was no room; count 0: none */
	uint64_t rest_due_ms;
	uint32_t lost;
};

/* One more, with a count of 1; its `lost` and `open` are not used. */
void told_add(struct told *told, const struct egress_told *one, uint64_t now_ms);

/* What is due next, to be sent or tried again, with all but `open` filled in; false: nothing is. */
bool told_due(struct told *told, uint64_t now_ms, struct egress_told *ret_one);

/* What told_due() has just given at the same time was sent. */
void told_sent(struct told *told, uint64_t now_ms);

/* When something will be due, or is; UINT64_MAX: nothing. */
uint64_t told_next_ms(const struct told *told);
