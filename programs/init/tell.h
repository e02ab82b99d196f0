/*
 * What init tells its supervisor: what happens, while somebody follows the sandbox; and what
 * commands came to.
 *
 * As init, unprivileged. Blocks only where the sandbox is recorded. Otherwise what does not go at
 * once is counted as lost, and the count goes with the next event.
 */
#pragma once

#include "programs/init/config.h"

struct tell {
	bool is_wanted, is_recorded; /* recorded: always, of file operations, too, and what is told
	                                is waited for */
	uint32_t lost;
	struct init_totals totals; /* not told yet */
};

/* Sends it, if anybody wants to know; `lost` is filled in. */
void tell_event(struct tell *tell, struct init_event *event);

/* Counts a command that has ended, whose program was executed or not; tells the totals when they
 * are of many. */
void tell_count(struct tell *tell, const struct message_exited *exited, bool is_executed);

/* Tells the totals, if there is anything to be told; what does not go at once goes the next time.
 */
void tell_totals(struct tell *tell);
