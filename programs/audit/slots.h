/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state file of the audit: the position of the chain, with the key of this minute. The file is
 * written by yett-audit, and by yett as root.
 *
 * It has slots at fixed places. Two slots alternate: the new state is on disk before the old one,
 * with its key, is overwritten, so one of them is always valid. The third slot holds a new chain
 * until yett-audit takes it up, and may only be filled while it is empty. The fourth says which
 * records were removed. After the slots come the users' quota counters of the day, which the chain
 * does not cover.
 */
#pragma once

#include "programs/audit/chain.h"

#define SLOTS_STATE_NAME   "state"
#define SLOTS_SEGMENT_NAME "%08u.jsonl"
#define SLOTS_SEGMENT_LAST 99999999

#define SLOTS_EACH 4096 /* distance between slots: no two share a sector */

enum slot { SLOT_FIRST, SLOT_SECOND, SLOT_NEXT_CHAIN, SLOT_PRUNED, SLOTS };

struct slots_state {
	uint64_t generation; /* incremented by each write; the slot with the higher one counts */
	uint64_t written_s;  /* CLOCK_REALTIME when it was written, for people to read */
	struct chain chain;  /* at offset `size` of `segment` */
	uint32_t segment;
	uint32_t is_sealed; /* 1: an administrator was given the first key */
	uint64_t size;      /* of the segment */
	/*
	 * The chain at the end of the previous segment, sealed and without its key. It may be
	 * another chain.
	 */
	struct chain before;
	uint64_t before_bytes;   /* size of the previous segment's records */
	uint32_t before_segment; /* 0: there is none */
	uint32_t pruned_first;   /* slots_pruned.first in the last "pruned" record */
};

struct slots_next {
	uint8_t id[CHAIN_ID_SIZE], key[CHAIN_HASH_SIZE];
};

struct slots_pruned {
	uint32_t first; /* the first segment that is left */
	uint32_t reserved;
	uint64_t bytes; /* of everything ever removed: never decreases */
};

/* Parses the name of a segment. Returns its number, or 0 if the name is not one. */
uint32_t slots_segment_number(const char *name);

/*
 * Reads the state, and wipes an older one that was left. Returns 0, -ENOENT if there is none, or
 * -errno.
 */
_must_check_ int slots_load(int fd, struct slots_state *ret_state);

/* Reads the state without changing the file. */
_must_check_ int slots_peek(int fd, struct slots_state *ret_state);

/*
 * Writes the state as the next generation and updates state->generation. On return the state is on
 * disk and the previous one is overwritten there. Returns 0 or -errno.
 */
_must_check_ int slots_store(int fd, struct slots_state *state);

/*
 * Read the other two slots. Return 0; -ENOENT: the slot is empty, or is being written; or -errno.
 */
_must_check_ int slots_read_next(int fd, struct slots_next *ret_next);
_must_check_ int slots_read_pruned(int fd, struct slots_pruned *ret_pruned);

/*
 * Fill the slot and wait for the disk. Return 0 or -errno; slots_write_next() returns -EBUSY if a
 * chain waits already.
 */
_must_check_ int slots_write_next(int fd, const struct slots_next *next);
_must_check_ int slots_write_pruned(int fd, const struct slots_pruned *pruned);

/* Empties the slot of the waiting chain. */
_must_check_ int slots_wipe_next(int fd);

/*
 * Keeps `size` bytes for the next process. A crash of the machine may lose them. Returns 0 or
 * -errno.
 */
_must_check_ int slots_keep(int fd, const void *bytes, size_t size);

/*
 * Reads the kept bytes, at most `size`. Returns their number; -ENOENT: there are none, or they are
 * incomplete; or -errno.
 */
_must_check_ ssize_t slots_kept(int fd, void *bytes, size_t size);
