/*
 * The state of the audit, in a file: where the chain is, with the key of this minute.
 *
 * Beside it are the segments. Slots of fixed size and place. Two take turns: the new state is
 * written and is on disk before the old one, and the key in it, is overwritten, so that there is a
 * whole one at any time. A third is where a new chain waits until yett-audit takes it up, and only
 * who finds it empty fills it. In a fourth stands what was removed. Behind them is what users have
 * caused today, which is no part of the chain. The file is written by yett-audit, and by yett as
 * root.
 */
#pragma once

#include "programs/audit/chain.h"

#define SLOTS_STATE_NAME   "state"
#define SLOTS_SEGMENT_NAME "%08u.jsonl"
#define SLOTS_SEGMENT_LAST 99999999

#define SLOTS_EACH 4096 /* from one slot to the next: none shares a sector with another */

enum slot { SLOT_FIRST, SLOT_SECOND, SLOT_NEXT_CHAIN, SLOT_PRUNED, SLOTS };

struct slots_state {
	uint64_t generation; /* counts what was written; the greater one counts */
	uint64_t written_s;  /* CLOCK_REALTIME, for people: when it was written */
	struct chain chain;  /* at the end of that segment, when it was so long */
	uint32_t segment;
	uint32_t is_sealed; /* 1: somebody was given the first key */
	uint64_t size;      /* of the segment */
	/* Where the segment before it ended, which may be of another chain: without the key, and
	 * sealed. */
	struct chain before;
	uint64_t before_bytes;   /* so long, as far as it holds records */
	uint32_t before_segment; /* 0: there is none */
	uint32_t pruned_first;   /* what a record told of last: slots_pruned.first */
};

struct slots_next {
	uint8_t id[CHAIN_ID_SIZE], key[CHAIN_HASH_SIZE];
};

struct slots_pruned {
	uint32_t first; /* the first segment that is left */
	uint32_t reserved;
	uint64_t bytes; /* of all that were ever removed: it only grows */
};

/* The number that a segment has by its name; 0: it is the name of none. */
uint32_t slots_segment_number(const char *name);

/* Reads the state, and wipes an older one that was left beside it. 0, -ENOENT where there is none,
 * or -errno. */
_must_check_ int slots_load(int fd, struct slots_state *ret_state);

/* Only reads it. */
_must_check_ int slots_peek(int fd, struct slots_state *ret_state);

/* Writes it as the next generation, which the state has then; on disk, and the one before is
 * overwritten there. 0 or -errno. */
_must_check_ int slots_store(int fd, struct slots_state *state);

/* The other two. 0, -ENOENT where the slot is empty or is just being written, or -errno. */
_must_check_ int slots_read_next(int fd, struct slots_next *ret_next);
_must_check_ int slots_read_pruned(int fd, struct slots_pruned *ret_pruned);

/* Fill one, until it is on disk. -EBUSY: a chain waits already. */
_must_check_ int slots_write_next(int fd, const struct slots_next *next);
_must_check_ int slots_write_pruned(int fd, const struct slots_pruned *pruned);

/* Has no chain wait any more. */
_must_check_ int slots_wipe_next(int fd);

/* Keeps so many bytes for the process that goes on; a crash of the machine may lose them. 0 or
 * -errno. */
_must_check_ int slots_keep(int fd, const void *bytes, size_t size);

/* What was kept last, at most so many bytes: how many, or -ENOENT where there is nothing, or not
 * all of it; or -errno. */
_must_check_ ssize_t slots_kept(int fd, void *bytes, size_t size);
