/* SPDX-License-Identifier: Apache-2.0 */
/* See memory.h. */
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Precedes each block. The alignment makes the block behind it suitable for any type. */
struct head {
	/*
	 * `owned`: the first block that belongs to this one; `next`: the next block of the same
	 * owner.
	 */
	_Alignas(max_align_t) struct head *owned, *next;
};

static struct head *head_of(void *block)
{
	return (struct head *)block - 1;
}

void *memory_new(size_t size)
{
	struct head *head = calloc(1, sizeof *head + size);

	return head ? head + 1 : NULL;
}

void memory_give(void *owner, void *block)
{
	struct head *from = block ? head_of(block) : NULL, *to = head_of(owner);

	if (!from)
		return;
	from->next = to->owned;
	to->owned = from;
}

void *memory_add(void *owner, size_t size)
{
	void *block = owner ? memory_new(size) : NULL;

	if (block)
		memory_give(owner, block);
	return block;
}

static void take_from(void *owner, void *block)
{
	struct head **at = &head_of(owner)->owned, *taken = head_of(block);

	while (*at != taken)
		at = &(*at)->next;
	*at = taken->next;
	taken->next = NULL;
}

void *memory_keep(void *owner, void *block)
{
	take_from(owner, block);
	memory_free(owner);
	return block;
}

void *memory_resize(void *block, size_t size)
{
	struct head *head = block ? realloc(head_of(block), sizeof *head + size) : NULL;

	if (!block)
		return memory_new(size);
	return head ? head + 1 : NULL;
}

char *memory_add_text(void *owner, const char *text)
{
	char *copy = memory_add(owner, strlen(text) + 1);

	if (copy)
		memcpy(copy, text, strlen(text) + 1);
	return copy;
}

char **memory_add_list(void *owner, const char *const *list, size_t count)
{
	char **copy = memory_add(owner, (count + 1) * sizeof *copy);

	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = memory_add_text(copy, list[i]);
		if (!copy[i])
			return NULL; /* the partial copy is freed with its owner */
	}
	return copy;
}

bool list_add(struct list *list, void *item)
{
	if (list->count == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		void **grown = memory_add(list, room * sizeof *grown);

		if (!grown) {
			memory_free(item);
			return false;
		}
		for (size_t i = 0; i < list->count; i++)
			grown[i] = list->items[i];
		list->items = grown;
		list->room = room;
	}
	memory_give(list, item);
	list->items[list->count++] = item;
	return true;
}

bool list_move(struct list *from, struct list *to)
{
	size_t moved = 0;

	while (moved < from->count) {
		take_from(from, from->items[moved]);
		if (!list_add(to, from->items[moved++]))
			break;
	}
	from->count -= moved;
	from->items += moved;
	return from->count == 0;
}

/*
 * Frees a tree of blocks without recursion: before a block is freed, the blocks that belong to it
 * are inserted in front of the rest of the list.
 */
void memory_free(void *block)
{
	struct head *head = block ? head_of(block) : NULL;

	if (head)
		head->next = NULL; /* the root belongs to nothing, so nothing follows */
	while (head) {
		struct head *rest = head->next, *last = head->owned;

		while (last && last->next)
			last = last->next;
		if (last)
			last->next = rest;
		rest = last ? head->owned : rest;
		free(head);
		head = rest;
	}
}
