/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports that wait to be sent to the supervisor. Equal ones are merged, so that a sandbox
 * cannot flood the receivers of its events.
 *
 * Pure but for its queue; the caller passes the time. The first report of its kind is due at once.
 * Equal reports within the next second are merged, and due at the end of that second. A report for
 * which there is no room is counted as lost, but the bytes of a closed connection are always
 * reported.
 */
#pragma once

#include "programs/net/egress.h"

#define REPORTED_MAX      64
#define REPORTED_ALIKE_MS 1000
/* Limit for the kinds that cost a sandbox nothing, so that they leave room for the others. */
#define REPORTED_REFUSED_MAX (REPORTED_MAX / 2)

struct reports_entry {
	bool is_used;
	/* When to send the report; with a count of 0, when to forget the entry. */
	uint64_t due_ms;
	struct egress_report reports; /* count 0: the first was sent, and none equal came since */
};

struct reports {
	struct reports_entry entries[REPORTED_MAX];
	struct egress_report rest; /* CLOSED events for which there was no room; count 0: none */
	uint64_t rest_due_ms;
	uint32_t lost;
};

/* Adds one report. Sets its count to 1, and ignores its `lost` and `open`. */
void reports_add(struct reports *reports, const struct egress_report *one, uint64_t now_ms);

/*
 * Returns the next report that is due, to send (again), with all members but `open` filled in.
 * Returns false if none is due.
 */
bool reports_due(struct reports *reports, uint64_t now_ms, struct egress_report *ret_one);

/* Marks as sent what reports_due() has just returned for the same time. */
void reports_sent(struct reports *reports, uint64_t now_ms);

/* When the next report is due, which may have passed; UINT64_MAX: there is none. */
uint64_t reports_next_ms(const struct reports *reports);
