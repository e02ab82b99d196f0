/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reports that init sends to its supervisor: events, while a client follows the sandbox or
 * where the sandbox is recorded; and totals of ended commands.
 *
 * Runs as init, unprivileged. Blocks only where the sandbox is recorded. Elsewhere an event that
 * cannot be sent at once is counted as lost, and the next event carries the count.
 */
#pragma once

#include "programs/inside/init/config.h"

struct report {
	/*
	 * is_wanted: a client follows the events. is_recorded: the audit log gets all events,
	 * including those of file operations, and sending blocks until the supervisor takes the
	 * event.
	 */
	bool is_wanted, is_recorded;
	uint32_t lost;
	struct init_totals totals; /* not sent yet */
};

/* Sends an event if it is wanted or recorded. Fills in its `lost`. */
void report_event(struct report *report, struct init_event *event);

/*
 * Adds an ended command to the totals; `is_executed`: its program was executed. Sends the totals
 * when they cover INIT_TOTALS_EVERY commands.
 */
void report_count(struct report *report, const struct message_exited *exited, bool is_executed);

/*
 * Sends the totals, unless they are empty. Totals that cannot be sent at once are kept for the next
 * call.
 */
void report_totals(struct report *report);
