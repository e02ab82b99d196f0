/* See told.h. No privilege. */
#include "programs/egress/told.h"

#include <string.h>

static bool is_alike(const struct egress_told *a, const struct egress_told *b)
{
	return a->kind == b->kind && a->error == b->error && a->origin == b->origin &&
	       a->port == b->port && a->verdict == b->verdict &&
	       memcmp(a->address, b->address, sizeof a->address) == 0 &&
	       strcmp(a->name, b->name) == 0;
}

static bool is_of_connection(const struct egress_told *one)
{
	return one->kind == EGRESS_TOLD_CONNECTED || one->kind == EGRESS_TOLD_CLOSED ||
	       one->kind == EGRESS_TOLD_ASKED;
}

static void merge(struct egress_told *into, const struct egress_told *one)
{
	if (into->count < UINT32_MAX)
		into->count++;
	into->sent_bytes += one->sent_bytes;
	into->received_bytes += one->received_bytes;
}

/* Whether a second has passed since the first report was sent, without an equal one. */
static bool is_forgotten(const struct told_entry *entry, uint64_t now_ms)
{
	return entry->told.count == 0 && entry->due_ms <= now_ms;
}

/* Finds a free entry; NULL: there is no room for this report. */
static struct told_entry *find_room(struct told *told, const struct egress_told *one,
                                    uint64_t now_ms)
{
	struct told_entry *room = NULL;
	size_t refused = 0;

	for (size_t i = 0; i < TOLD_MAX; i++) {
		struct told_entry *entry = &told->entries[i];

		if (entry->is_used && is_forgotten(entry, now_ms))
			entry->is_used = false;
		if (!entry->is_used)
			room = room ? room : entry;
		else if (!is_of_connection(&entry->told))
			refused++;
	}
	return is_of_connection(one) || refused < TOLD_REFUSED_MAX ? room : NULL;
}

static void lose(struct told *told, const struct egress_told *one, uint64_t now_ms)
{
	if (one->kind != EGRESS_TOLD_CLOSED) {
		if (told->lost < UINT32_MAX)
			told->lost++;
		return;
	}
	if (told->rest.count == 0)
		told->rest_due_ms = now_ms + TOLD_ALIKE_MS;
	told->rest.kind = EGRESS_TOLD_CLOSED;
	merge(&told->rest, one);
}

void told_add(struct told *told, const struct egress_told *one, uint64_t now_ms)
{
	struct told_entry *room;

	for (size_t i = 0; i < TOLD_MAX; i++) {
		struct told_entry *entry = &told->entries[i];

		if (entry->is_used && !is_forgotten(entry, now_ms) && is_alike(&entry->told, one)) {
			merge(&entry->told, one);
			return;
		}
	}
	room = find_room(told, one, now_ms);
	if (!room) {
		lose(told, one, now_ms);
		return;
	}
	room->is_used = true;
	room->due_ms = now_ms;
	room->told = *one;
	room->told.count = 1;
}

/* Finds the due report that has waited longest. */
static struct told_entry *find_due(struct told *told, uint64_t now_ms)
{
	struct told_entry *due = NULL;

	for (size_t i = 0; i < TOLD_MAX; i++) {
		struct told_entry *entry = &told->entries[i];

		if (entry->is_used && entry->told.count > 0 && entry->due_ms <= now_ms &&
		    (!due || entry->due_ms < due->due_ms))
			due = entry;
	}
	return due;
}

bool told_due(struct told *told, uint64_t now_ms, struct egress_told *ret_one)
{
	const struct told_entry *due = find_due(told, now_ms);

	if (due)
		*ret_one = due->told;
	else if (told->rest.count > 0 && told->rest_due_ms <= now_ms)
		*ret_one = told->rest;
	else
		return false;
	ret_one->lost = told->lost;
	return true;
}

void told_sent(struct told *told, uint64_t now_ms)
{
	struct told_entry *due = find_due(told, now_ms);

	told->lost = 0;
	if (!due) {
		told->rest = (struct egress_told){0};
		return;
	}
	due->due_ms = now_ms + TOLD_ALIKE_MS;
	due->told.count = 0;
	due->told.sent_bytes = 0;
	due->told.received_bytes = 0;
}

uint64_t told_next_ms(const struct told *told)
{
	uint64_t next = told->rest.count > 0 ? told->rest_due_ms : UINT64_MAX;

	for (size_t i = 0; i < TOLD_MAX; i++) {
		const struct told_entry *entry = &told->entries[i];

		if (entry->is_used && entry->told.count > 0 && entry->due_ms < next)
			next = entry->due_ms;
	}
	return next;
}
