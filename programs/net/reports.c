/* SPDX-License-Identifier: Apache-2.0 */
/* See reports.h. No privilege. */
#include "programs/net/reports.h"

#include <string.h>

static bool is_alike(const struct egress_report *a, const struct egress_report *b)
{
	return a->kind == b->kind && a->error == b->error && a->origin == b->origin &&
	       a->port == b->port && a->verdict == b->verdict &&
	       memcmp(a->address, b->address, sizeof a->address) == 0 &&
	       strcmp(a->name, b->name) == 0;
}

static bool reports_is_of_connection(const struct egress_report *one)
{
	return one->kind == EGRESS_REPORT_CONNECTED || one->kind == EGRESS_REPORT_CLOSED ||
	       one->kind == EGRESS_REPORT_ASKED;
}

static void reports_merge(struct egress_report *into, const struct egress_report *one)
{
	if (into->count < UINT32_MAX)
		into->count++;
	into->sent_bytes += one->sent_bytes;
	into->received_bytes += one->received_bytes;
}

/* Whether a second has passed since the first report was sent, without an equal one. */
static bool is_forgotten(const struct reports_entry *entry, uint64_t now_ms)
{
	return entry->reports.count == 0 && entry->due_ms <= now_ms;
}

/* Finds a free entry; NULL: there is no room for this report. */
static struct reports_entry *reports_find_room(struct reports *reports,
                                               const struct egress_report *one, uint64_t now_ms)
{
	struct reports_entry *room = NULL;
	size_t refused = 0;

	for (size_t i = 0; i < REPORTED_MAX; i++) {
		struct reports_entry *entry = &reports->entries[i];

		if (entry->is_used && is_forgotten(entry, now_ms))
			entry->is_used = false;
		if (!entry->is_used)
			room = room ? room : entry;
		else if (!reports_is_of_connection(&entry->reports))
			refused++;
	}
	return reports_is_of_connection(one) || refused < REPORTED_REFUSED_MAX ? room : NULL;
}

static void reports_lose(struct reports *reports, const struct egress_report *one, uint64_t now_ms)
{
	if (one->kind != EGRESS_REPORT_CLOSED) {
		if (reports->lost < UINT32_MAX)
			reports->lost++;
		return;
	}
	if (reports->rest.count == 0)
		reports->rest_due_ms = now_ms + REPORTED_ALIKE_MS;
	reports->rest.kind = EGRESS_REPORT_CLOSED;
	reports_merge(&reports->rest, one);
}

void reports_add(struct reports *reports, const struct egress_report *one, uint64_t now_ms)
{
	struct reports_entry *room;

	for (size_t i = 0; i < REPORTED_MAX; i++) {
		struct reports_entry *entry = &reports->entries[i];

		if (entry->is_used && !is_forgotten(entry, now_ms) &&
		    is_alike(&entry->reports, one)) {
			reports_merge(&entry->reports, one);
			return;
		}
	}
	room = reports_find_room(reports, one, now_ms);
	if (!room) {
		reports_lose(reports, one, now_ms);
		return;
	}
	room->is_used = true;
	room->due_ms = now_ms;
	room->reports = *one;
	room->reports.count = 1;
}

/* Finds the due report that has waited longest. */
static struct reports_entry *find_due(struct reports *reports, uint64_t now_ms)
{
	struct reports_entry *due = NULL;

	for (size_t i = 0; i < REPORTED_MAX; i++) {
		struct reports_entry *entry = &reports->entries[i];

		if (entry->is_used && entry->reports.count > 0 && entry->due_ms <= now_ms &&
		    (!due || entry->due_ms < due->due_ms))
			due = entry;
	}
	return due;
}

bool reports_due(struct reports *reports, uint64_t now_ms, struct egress_report *ret_one)
{
	const struct reports_entry *due = find_due(reports, now_ms);

	if (due)
		*ret_one = due->reports;
	else if (reports->rest.count > 0 && reports->rest_due_ms <= now_ms)
		*ret_one = reports->rest;
	else
		return false;
	ret_one->lost = reports->lost;
	return true;
}

void reports_sent(struct reports *reports, uint64_t now_ms)
{
	struct reports_entry *due = find_due(reports, now_ms);

	reports->lost = 0;
	if (!due) {
		reports->rest = (struct egress_report){0};
		return;
	}
	due->due_ms = now_ms + REPORTED_ALIKE_MS;
	due->reports.count = 0;
	due->reports.sent_bytes = 0;
	due->reports.received_bytes = 0;
}

uint64_t reports_next_ms(const struct reports *reports)
{
	uint64_t next = reports->rest.count > 0 ? reports->rest_due_ms : UINT64_MAX;

	for (size_t i = 0; i < REPORTED_MAX; i++) {
		const struct reports_entry *entry = &reports->entries[i];

		if (entry->is_used && entry->reports.count > 0 && entry->due_ms < next)
			next = entry->due_ms;
	}
	return next;
}
