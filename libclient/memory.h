/*
 * What the library hands over that is no handle: one kind of memory, which yett_free() frees with
 * all that belongs to it.
 *
 * With the caller's privilege. A block may belong to another one, and then goes with it; so a
 * status and the texts that it points to are freed by one call, and none of them ever by free(3).
 */
#pragma once

#include <stddef.h>

#include "base/fd.h"
#include "libclient/yett.h"

/* Zeroed bytes, freed with yett_free(); NULL: no memory. */
void *memory_new(size_t size);

/* The same, belonging to `owner`, which may be NULL: then there is none. */
void *memory_add(void *owner, size_t size);

/* Makes a block that belongs to nothing yet belong to `owner`. NULL: nothing happens. */
void memory_give(void *owner, void *block);

/* Frees all that `owner` has but `block`, which then belongs to nothing; `block` itself. */
void *memory_keep(void *owner, void *block);

/* Another size for a block that belongs to nothing (NULL: a new one), as realloc(3) has it: what it
 * grows by is not zeroed. */
void *memory_resize(void *block, size_t size);

/* A copy of a text, or of a list of texts that ends with NULL (NULL: an empty one), belonging to
 * `owner`. NULL: no memory. */
char *memory_add_text(void *owner, const char *text);
char **memory_add_list(void *owner, const char *const *list, size_t count);

/* What all lists that programs get are: of items that belong to it. */
struct list {
	size_t count, room;
	void **items;
};

/* Takes the item in any case. False: no memory. */
bool list_add(struct list *list, void *item);

/* Moves all items behind those that are there. False: no memory for all of them; one is lost then.
 */
bool list_move(struct list *from, struct list *to);

static inline void memory_freep(void *block)
{
	yett_free(*(void **)block);
}
