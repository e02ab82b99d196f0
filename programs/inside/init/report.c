/* SPDX-License-Identifier: Apache-2.0 */
/* See report.h. Unprivileged; only sends on the control socket. */
#include "programs/inside/init/report.h"

#include <sys/socket.h>

void report_event(struct report *report, struct init_event *event)
{
	ssize_t n;

	if (!report->is_wanted && !report->is_recorded)
		return;
	event->lost = report->lost;
	do
		n = send(INIT_FD_CONTROL, event, sizeof *event,
		         MSG_NOSIGNAL | (report->is_recorded ? 0 : MSG_DONTWAIT));
	while (n < 0 && errno == EINTR);
	report->lost = n == (ssize_t)sizeof *event ? 0 : report->lost + 1;
}

void report_totals(struct report *report)
{
	if (report->totals.successes + report->totals.failures > 0 &&
	    send(INIT_FD_CONTROL, &report->totals, sizeof report->totals,
	         MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
		report->totals = (struct init_totals){0};
}

void report_count(struct report *report, const struct message_exited *exited, bool is_executed)
{
	struct init_totals *totals = &report->totals;
	bool is_success =
		is_executed && !exited->signaled && exited->status == 0 && !exited->timed_out;

	totals->successes += is_success;
	totals->failures += !is_success;
	totals->timeouts += exited->timed_out;
	totals->duration_us += exited->wall_us;
	if (totals->successes + totals->failures >= INIT_TOTALS_EVERY)
		report_totals(report);
}
