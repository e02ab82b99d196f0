/*
 * Pieces of a segment that are no records: what a write left that failed or was cut short by the
 * end of the machine.
 *
 * A segment can only be appended to, so such a piece stays. The record after it, and a line end
 * between the two, says where it lies and how long it is:
 * {…,"event":"torn","offset":OFFSET,"bytes":BYTES,…}, or the first one of a segment,
 * {…,"event":"segment","offset":0,…}. Whole lines in it count for nothing either: nobody was told
 * that they are kept. Where that record could not be written either, the next one says it of both.
 * Pure functions, without privilege: of yett-audit, which goes on after its own end, and of yett,
 * which verifies.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TORN_EVENT   "torn"
#define TORN_SEGMENT "segment"
#define TORN_MAX     1024 /* in a segment */

struct torn {
	uint64_t offset,
		bytes; /* where it begins, and how long it is but for the line end behind it */
	size_t line;   /* where the line begins that says so */
};

struct torn_list {
	size_t count;
	struct torn found[TORN_MAX];
};

/* What the lines of bytes[0 … size), a segment or the end of one, say. Whether that is true is to
 * be seen by their MACs. */
void torn_find(const char *bytes, size_t size, struct torn_list *ret_list);

/*
 * Where the line begins after a piece that lies at this offset of the bytes, which are at `base` of
 * the segment; 0: none says so. Of several the last one counts that is a record: `from` is the
 * list's count at first, and goes on from where this one was found.
 */
size_t torn_after(const struct torn_list *list, uint64_t base, size_t at, size_t *from);
