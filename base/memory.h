/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a library returns to programs, except handles. memory_free() frees a block with all
 * blocks that belong to it. Each library has its own copy of this file, and so frees only its own
 * blocks.
 *
 * Runs with the caller's privilege. A block can belong to another block, and is then freed with it.
 * So one call frees a status and the texts that it points to. Such memory is never passed to
 * free(3).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Allocates zeroed bytes, to be freed with memory_free(). NULL: no memory. */
void *memory_new(size_t size);

/* Frees a block, and everything that belongs to it. Takes NULL. */
void memory_free(void *block);

/*
 * Allocates a zeroed block that belongs to `owner`. Returns NULL if `owner` is NULL or there is no
 * memory.
 */
void *memory_add(void *owner, size_t size);

/*
 * Makes `block`, which must not belong to another block, belong to `owner`. Does nothing if `block`
 * is NULL.
 */
void memory_give(void *owner, void *block);

/*
 * Frees `owner` and everything that belongs to it, except `block`, which then belongs to no other
 * block. Returns `block`.
 */
void *memory_keep(void *owner, void *block);

/*
 * Changes the size of a block that belongs to no other block (NULL: allocates one), like
 * realloc(3). Added bytes are not zeroed. NULL: no memory, and `block` is unchanged.
 */
void *memory_resize(void *block, size_t size);

/*
 * Copies a text, or a list of `count` texts, to which a final NULL is added. The copy belongs to
 * `owner`. NULL: no memory.
 */
char *memory_add_text(void *owner, const char *text);
char **memory_add_list(void *owner, const char *const *list, size_t count);

/* The representation of all lists that programs receive. The items belong to the list. */
struct list {
	size_t count, room;
	void **items;
};

/* Adds an item, which the list owns, or frees if there is no memory. False: no memory. */
bool list_add(struct list *list, void *item);

/*
 * Moves all items of `from` to the end of `to`. False: no memory; the item at which that happened
 * is freed, and the rest stays in `from`.
 */
bool list_move(struct list *from, struct list *to);

static inline void memory_freep(void *block)
{
	memory_free(*(void **)block);
}
