/* SPDX-License-Identifier: Apache-2.0 */
/* See slots.h. */
#include "programs/audit/slots.h"
#include "base/reached.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUM_SIZE  16
#define SLOT_SIZE 512 /* a disk sector, which is written whole or not at all */

static const char magics[SLOTS][8] = {"yettaud1", "yettaud1", "yettnxt1", "yettprn1"};

struct packed {
	char magic[8];
	uint8_t payload[SLOT_SIZE - 8 - SUM_SIZE];
	uint8_t sum[SUM_SIZE];
};
_Static_assert(sizeof(struct packed) == SLOT_SIZE, "a slot is a sector");
_Static_assert(sizeof(struct slots_state) <= sizeof((struct packed){0}.payload),
               "a state fits into a slot");

uint32_t slots_segment_number(const char *name)
{
	char again[32];
	unsigned long number = strtoul(name, NULL, 10);

	if (number == 0 || number > SLOTS_SEGMENT_LAST)
		return 0;
	(void)snprintf(again, sizeof again, SLOTS_SEGMENT_NAME, (unsigned)number);
	return strcmp(name, again) == 0 ? (uint32_t)number : 0;
}

static void make_sum(const struct packed *packed, uint8_t ret_sum[SUM_SIZE])
{
	(void)crypto_generichash(ret_sum, SUM_SIZE, (const uint8_t *)packed,
	                         offsetof(struct packed, sum), NULL, 0);
}

static int read_slot(int fd, enum slot slot, void *ret, size_t size)
{
	struct packed packed = {0};
	uint8_t sum[SUM_SIZE];
	ssize_t n = pread(fd, &packed, sizeof packed, (off_t)slot * SLOTS_EACH);
	int r = n < 0 ? -errno : -ENOENT;

	make_sum(&packed, sum);
	if (n == sizeof packed && memcmp(packed.magic, magics[slot], sizeof packed.magic) == 0 &&
	    memcmp(sum, packed.sum, sizeof sum) == 0) {
		memcpy(ret, packed.payload, size);
		r = 0;
	}
	sodium_memzero(&packed, sizeof packed);
	return r;
}

static int write_packed(int fd, enum slot slot, const struct packed *packed)
{
	ssize_t n = pwrite(fd, packed, sizeof *packed, (off_t)slot * SLOTS_EACH);

	if (n != sizeof *packed)
		return n < 0 ? -errno : -ENOSPC;
	return fdatasync(fd) < 0 ? -errno : 0;
}

static int write_slot(int fd, enum slot slot, const void *bytes, size_t size)
{
	struct packed packed = {0};
	int r;

	memcpy(packed.magic, magics[slot], sizeof packed.magic);
	memcpy(packed.payload, bytes, size);
	make_sum(&packed, packed.sum);
	r = write_packed(fd, slot, &packed);
	sodium_memzero(&packed, sizeof packed);
	return r;
}

static int wipe_slot(int fd, enum slot slot)
{
	return write_packed(fd, slot, &(struct packed){0});
}

/* Returns the slot of the newest valid state, or -errno. */
static int slots_find_state(int fd, struct slots_state *ret_state)
{
	struct slots_state states[2];
	int r[2], found;

	for (enum slot slot = SLOT_FIRST; slot <= SLOT_SECOND; slot++)
		r[slot] = read_slot(fd, slot, &states[slot], sizeof states[slot]);
	found = r[SLOT_FIRST] < 0 || (r[SLOT_SECOND] == 0 && states[SLOT_SECOND].generation >
	                                                             states[SLOT_FIRST].generation)
	                ? SLOT_SECOND
	                : SLOT_FIRST;
	if (r[found] == 0)
		*ret_state = states[found];
	sodium_memzero(states, sizeof states);
	return r[found] == 0 ? found : r[SLOT_FIRST] == -ENOENT ? r[SLOT_SECOND] : r[SLOT_FIRST];
}

int slots_peek(int fd, struct slots_state *ret_state)
{
	int r = slots_find_state(fd, ret_state);

	return r < 0 ? r : 0;
}

int slots_load(int fd, struct slots_state *ret_state)
{
	int r = slots_find_state(fd, ret_state);

	return r < 0 ? r : wipe_slot(fd, r == SLOT_FIRST ? SLOT_SECOND : SLOT_FIRST);
}

int slots_store(int fd, struct slots_state *state)
{
	struct slots_state next = *state;
	enum slot slot = ++next.generation % 2 == 0 ? SLOT_FIRST : SLOT_SECOND;
	int r = reached_step("audit", "state");

	if (r == 0)
		r = write_slot(fd, slot, &next, sizeof next);
	if (r == 0)
		r = reached_step("audit", "state-written");
	if (r == 0)
		r = wipe_slot(fd, slot == SLOT_FIRST ? SLOT_SECOND : SLOT_FIRST);
	if (r == 0)
		r = reached_step("audit", "state-wiped");
	/*
	 * The generation advances only when the old state is wiped. Until then, another attempt
	 * writes to the same slot, so the only valid state is never overwritten.
	 */
	if (r == 0)
		state->generation = next.generation;
	sodium_memzero(&next, sizeof next);
	return r;
}

int slots_read_next(int fd, struct slots_next *ret_next)
{
	return read_slot(fd, SLOT_NEXT_CHAIN, ret_next, sizeof *ret_next);
}

int slots_read_pruned(int fd, struct slots_pruned *ret_pruned)
{
	return read_slot(fd, SLOT_PRUNED, ret_pruned, sizeof *ret_pruned);
}

int slots_write_next(int fd, const struct slots_next *next)
{
	struct slots_next there;
	int r = slots_read_next(fd, &there);

	sodium_memzero(&there, sizeof there);
	return r == -ENOENT ? write_slot(fd, SLOT_NEXT_CHAIN, next, sizeof *next)
	       : r < 0      ? r
	                    : -EBUSY;
}

int slots_write_pruned(int fd, const struct slots_pruned *pruned)
{
	return write_slot(fd, SLOT_PRUNED, pruned, sizeof *pruned);
}

int slots_wipe_next(int fd)
{
	return wipe_slot(fd, SLOT_NEXT_CHAIN);
}

/*
 * The header of the bytes that slots_keep() stores behind the last slot. The sum covers the size
 * and these bytes.
 */
struct kept {
	uint8_t sum[SUM_SIZE];
	uint64_t size;
};
#define KEPT_AT ((off_t)SLOTS * SLOTS_EACH)

static void sum_kept(struct kept *kept, const void *bytes, uint8_t ret_sum[SUM_SIZE])
{
	crypto_generichash_state state;

	(void)crypto_generichash_init(&state, NULL, 0, SUM_SIZE);
	(void)crypto_generichash_update(&state, (const uint8_t *)&kept->size, sizeof kept->size);
	(void)crypto_generichash_update(&state, bytes, kept->size);
	(void)crypto_generichash_final(&state, ret_sum, SUM_SIZE);
}

int slots_keep(int fd, const void *bytes, size_t size)
{
	struct kept kept = {.size = size};

	sum_kept(&kept, bytes, kept.sum);
	/* If the process is killed between the two writes, the sum does not match. */
	return pwrite(fd, bytes, size, KEPT_AT + (off_t)sizeof kept) == (ssize_t)size &&
	                       pwrite(fd, &kept, sizeof kept, KEPT_AT) == sizeof kept
	               ? 0
	               : -(errno ?: EIO);
}

ssize_t slots_kept(int fd, void *bytes, size_t size)
{
	struct kept kept = {0};
	uint8_t sum[SUM_SIZE];
	ssize_t n = pread(fd, &kept, sizeof kept, KEPT_AT);

	if (n < 0)
		return -errno;
	if (n != sizeof kept || kept.size > size ||
	    pread(fd, bytes, kept.size, KEPT_AT + (off_t)sizeof kept) != (ssize_t)kept.size)
		return -ENOENT;
	sum_kept(&kept, bytes, sum);
	return memcmp(sum, kept.sum, sizeof sum) == 0 ? (ssize_t)kept.size : -ENOENT;
}
