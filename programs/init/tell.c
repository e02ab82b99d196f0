/* See tell.h. Unprivileged; only sends on the control socket. */
#include "programs/init/tell.h"

#include <sys/socket.h>

void tell_event(struct tell *tell, struct init_event *event)
{
	ssize_t n;

	if (!tell->is_wanted && !tell->is_recorded)
		return;
	event->lost = tell->lost;
	do
		n = send(INIT_FD_CONTROL, event, sizeof *event,
		         MSG_NOSIGNAL | (tell->is_recorded ? 0 : MSG_DONTWAIT));
	while (n < 0 && errno == EINTR);
	tell->lost = n == (ssize_t)sizeof *event ? 0 : tell->lost + 1;
}

void tell_totals(struct tell *tell)
{
	if (tell->totals.successes + tell->totals.failures > 0 &&
	    send(INIT_FD_CONTROL, &tell->totals, sizeof tell->totals, MSG_NOSIGNAL | MSG_DONTWAIT) >
	            0)
		tell->totals = (struct init_totals){0};
}

void tell_count(struct tell *tell, const struct message_exited *exited, bool is_executed)
{
	struct init_totals *totals = &tell->totals;
	bool is_success =
		is_executed && !exited->signaled && exited->status == 0 && !exited->timed_out;

	totals->successes += is_success;
	totals->failures += !is_success;
	totals->timeouts += exited->timed_out;
	totals->duration_us += exited->wall_us;
	if (totals->successes + totals->failures >= INIT_TOTALS_EVERY)
		tell_totals(tell);
}
