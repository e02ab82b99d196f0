/* SPDX-License-Identifier: Apache-2.0 */
/* See synthetic.h. */
#include "programs/net/synthetic.h"

#include <assert.h>
#include <endian.h>
#include <sodium.h>
#include <string.h>

#define NETWORK_V4 UINT32_C(0xc6120000) /* 198.18.0.0 */
#define HALF_SIZE  UINT32_C(65536)
/*
 * The texts are in blocks of this size, and each text is in one block. So a block wastes at most
 * 253 bytes, which is at most 8 bytes of the SYNTHETIC_EACH_MAX of each name in it.
 */
#define BLOCK_SIZE  8192
#define BLOCKS_STEP 64
#define SLOTS_FIRST 64

static_assert(SYNTHETIC_KEY_SIZE == crypto_shorthash_KEYBYTES, "the hash takes such a key");

/* The start of a name's text. */
struct place {
	uint16_t block, offset;
};

/*
 * Name to index: `slots`, a hash table with open addressing, linear probing and no deletion, at
 * most three quarters full. 0 marks a free slot, as no name has index 0. Index to name: `places`,
 * with room for as many names as the table can hold.
 */
struct synthetic {
	struct synthetic_options options;
	uint32_t next; /* index of the next new name */
	size_t slots_count;
	uint16_t *slots;      /* indexes */
	struct place *places; /* by index, from SYNTHETIC_RESERVED on */
	char **blocks;
	size_t blocks_count, block_used; /* `block_used`: bytes of the last block */
};

int synthetic_new(const struct synthetic_options *options, struct synthetic **ret)
{
	struct synthetic *names = calloc(1, sizeof *names);

	assert(options->half <= 1 &&
	       (!options->has_ipv6 || memcmp(options->prefix.s6_addr + 8, &(uint64_t){0}, 8) == 0));
	if (!names)
		return -ENOMEM;
	names->options = *options;
	names->next = SYNTHETIC_RESERVED;
	*ret = names;
	return 0;
}

size_t synthetic_count(const struct synthetic *names)
{
	return names->next - SYNTHETIC_RESERVED;
}

static size_t places_count(size_t slots_count)
{
	size_t count = slots_count - slots_count / 4;

	return count < SYNTHETIC_MAX ? count : SYNTHETIC_MAX;
}

static const char *text(const struct synthetic *names, uint32_t index)
{
	const struct place *place = &names->places[index - SYNTHETIC_RESERVED];

	return names->blocks[place->block] + place->offset;
}

/*
 * Returns the slot of `name`, or the free slot where to put the name. There is always a free slot.
 */
static size_t seek(const struct synthetic *names, const uint16_t *slots, size_t slots_count,
                   const char *name)
{
	uint8_t hash[crypto_shorthash_BYTES];
	uint64_t number;
	size_t at;

	(void)crypto_shorthash_siphash24(hash, (const uint8_t *)name, strlen(name),
	                                 names->options.key); /* cannot fail */
	memcpy(&number, hash, sizeof number);
	for (at = number & (slots_count - 1); slots[at] != 0; at = (at + 1) & (slots_count - 1)) {
		if (strcmp(text(names, slots[at]), name) == 0)
			break;
	}
	return at;
}

bool synthetic_find(const struct synthetic *names, const char *name, uint32_t *ret_index)
{
	uint16_t index =
		names->slots_count == 0
			? 0
			: names->slots[seek(names, names->slots, names->slots_count, name)];

	if (index != 0)
		*ret_index = index;
	return index != 0;
}

/* Makes room for one more index. Returns 0 or -ENOMEM. */
static int grow_tables(struct synthetic *names)
{
	size_t count = names->slots_count == 0 ? SLOTS_FIRST : names->slots_count * 2;
	_cleanup_free_ uint16_t *slots = NULL;
	struct place *places;

	if (names->slots_count != 0 && synthetic_count(names) < places_count(names->slots_count))
		return 0;
	slots = calloc(count, sizeof *slots);
	if (!slots)
		return -ENOMEM;
	places = reallocarray(names->places, places_count(count), sizeof *places);
	if (!places)
		return -ENOMEM;
	names->places = places;
	for (uint32_t index = SYNTHETIC_RESERVED; index < names->next; index++)
		slots[seek(names, slots, count, text(names, index))] = (uint16_t)index;
	free(names->slots);
	names->slots = steal_ptr(&slots);
	names->slots_count = count;
	return 0;
}

/* Makes room for a text of `size` bytes. Returns 0 or -ENOMEM. */
static int grow_blocks(struct synthetic *names, size_t size)
{
	char **blocks, *block;

	if (names->blocks_count > 0 && size <= BLOCK_SIZE - names->block_used)
		return 0;
	if (names->blocks_count % BLOCKS_STEP == 0) {
		blocks = reallocarray(names->blocks, names->blocks_count + BLOCKS_STEP,
		                      sizeof *blocks);
		if (!blocks)
			return -ENOMEM;
		names->blocks = blocks;
	}
	block = malloc(BLOCK_SIZE);
	if (!block)
		return -ENOMEM;
	names->blocks[names->blocks_count++] = block;
	names->block_used = 0;
	return 0;
}

int synthetic_add(struct synthetic *names, const char *name, uint32_t *ret_index)
{
	size_t size = strlen(name) + 1;

	assert(size > 1 && size <= SYNTHETIC_LENGTH_MAX + 1);
	if (synthetic_find(names, name, ret_index))
		return 0;
	if (names->next == SYNTHETIC_INDEX_END)
		return -ENOSPC;
	if (grow_tables(names) < 0 || grow_blocks(names, size) < 0)
		return -ENOMEM;
	names->slots[seek(names, names->slots, names->slots_count, name)] = (uint16_t)names->next;
	names->places[synthetic_count(names)] =
		(struct place){(uint16_t)(names->blocks_count - 1), (uint16_t)names->block_used};
	memcpy(names->blocks[names->blocks_count - 1] + names->block_used, name, size);
	names->block_used += size;
	*ret_index = names->next++;
	return 0;
}

static uint32_t last_number(const struct in6_addr *address)
{
	return be32toh(address->s6_addr32[3]);
}

const char *synthetic_by_address(const struct synthetic *names, const struct in6_addr *address)
{
	/* An index below `first` wraps around, and so is larger than any index. */
	uint32_t first = names->options.half * HALF_SIZE, index;

	if (IN6_IS_ADDR_V4MAPPED(address))
		index = last_number(address) - NETWORK_V4 - first;
	else if (names->options.has_ipv6 && memcmp(address, &names->options.prefix, 12) == 0)
		index = last_number(address) - first;
	else
		return NULL;
	return index >= SYNTHETIC_RESERVED && index < names->next ? text(names, index) : NULL;
}

void synthetic_address(const struct synthetic *names, uint32_t index, int family,
                       struct in6_addr *ret)
{
	static const struct in6_addr mapped = {.s6_addr = {[10] = 0xff, [11] = 0xff}};
	bool is_v4 = family == AF_INET;

	assert(index >= SYNTHETIC_RESERVED && index < names->next &&
	       (is_v4 || names->options.has_ipv6));
	*ret = is_v4 ? mapped : names->options.prefix;
	ret->s6_addr32[3] =
		htobe32((is_v4 ? NETWORK_V4 : 0) + names->options.half * HALF_SIZE + index);
}

size_t synthetic_memory_bytes(const struct synthetic *names)
{
	size_t lists = (names->blocks_count + BLOCKS_STEP - 1) / BLOCKS_STEP * BLOCKS_STEP;

	return sizeof *names + names->slots_count * sizeof *names->slots +
	       places_count(names->slots_count) * sizeof *names->places +
	       lists * sizeof *names->blocks + names->blocks_count * BLOCK_SIZE;
}

void synthetic_free(struct synthetic *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->blocks_count; i++)
		free(names->blocks[i]);
	free(names->blocks);
	free(names->places);
	free(names->slots);
	free(names);
}
