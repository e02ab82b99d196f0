/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Truncated records: pieces of a segment that a failed write, or a crash of the machine, left
 * behind. Pure functions, without privilege, for yett-audit (recovers after its own end) and yett
 * (verifies).
 *
 * A segment is append-only, so such a piece stays. A newline and then a record follow it, which
 * says where the piece is and how long: {…,"event":"torn","offset":OFFSET,"bytes":BYTES,…}, or for
 * the first record of a segment {…,"event":"segment","offset":0,…}. Whole lines in the piece do not
 * count either, since nobody was told that they are on disk. If that record fails, too, the next
 * one covers both pieces.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRUNCATED_EVENT   "torn"
#define TRUNCATED_SEGMENT "segment"
#define TRUNCATED_MAX     1024 /* in a segment */

struct truncated {
	uint64_t offset, bytes; /* start and length of the piece, without the newline after it */
	size_t line;            /* where the line that describes the piece begins */
};

struct truncated_list {
	size_t count;
	struct truncated found[TRUNCATED_MAX];
};

/*
 * Finds all descriptions of truncated pieces in bytes[0 … size), a whole segment or its end. The
 * caller must check the MACs of those lines before it believes them.
 */
void truncated_find(const char *bytes, size_t size, struct truncated_list *ret_list);

/*
 * Returns where the line after the truncated piece at offset `at` begins, if a line describes that
 * piece; else 0. `base` is the position of the bytes in the segment. If several lines describe the
 * piece, the last one with a valid MAC counts: set *from to the list's count, and call again while
 * the line found is not a record.
 */
size_t truncated_after(const struct truncated_list *list, uint64_t base, size_t at, size_t *from);
