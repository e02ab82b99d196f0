/* SPDX-License-Identifier: Apache-2.0 */
/* See network.h. */
#include "helper/supervisor/network.h"
#include "programs/net/egress_report.h"
#include "protocol/frame.h"

int network_fd(struct pace *heard, const struct setup *setup)
{
	/*
	 * While the sandbox is frozen, nothing may be restarted: the restart would wait for the
	 * cgroup forker, which is frozen, too.
	 */
	return pace_allows(heard, HEARD_MS, HEARD_MAX) && setup->record.state == SANDBOX_RUNNING
	               ? setup->egress.reports
	               : -1;
}

/* The network's programs have ended, or misbehave: they are restarted, once. */
static void handle_end(struct setup *setup, struct events *events)
{
	struct message_happened event = {.kind = EVENT_NETWORK_LOST,
	                                 .count = setup_restart_network(setup)};

	setup->record.network.open = 0;
	events_report(events, event, NULL, 0);
}

int network_change(struct setup *setup, uint32_t changes, int *rules)
{
	int r = setup->egress.reports < 0                  ? -ENOTCONN
	        : changes != setup->record.network.changes ? -EAGAIN
	                                                   : 0;

	if (r == 0)
		r = egress_send_rules(setup, EGRESS_ORDER_RULES, *rules);
	if (r < 0)
		return r;
	fd_close(setup->last.rules);
	setup->last.rules = steal_fd(rules);
	setup->record.network.changes++;
	setup_publish(setup);
	return 0;
}

static void supervisor_network_count(struct record_network *all,
                                     const struct egress_report *reports)
{
	all->open = reports->open;
	all->made += reports->kind == EGRESS_REPORT_CONNECTED ? reports->count : 0;
	all->blocked += reports->kind == EGRESS_REPORT_DENIED ? reports->count : 0;
	all->sent_bytes += reports->sent_bytes;
	all->received_bytes += reports->received_bytes;
}

void network_hear(struct pace *heard, struct setup *setup, struct events *events)
{
	static const uint32_t kinds[] = {[EGRESS_REPORT_CONNECTED] = EVENT_CONNECTED,
	                                 [EGRESS_REPORT_CLOSED] = EVENT_DISCONNECTED,
	                                 [EGRESS_REPORT_FAILED] = EVENT_UNREACHABLE,
	                                 [EGRESS_REPORT_DENIED] = EVENT_BLOCKED,
	                                 [EGRESS_REPORT_FULL] = EVENT_FULL,
	                                 [EGRESS_REPORT_ASKED] = EVENT_ASKED};

	while (network_fd(heard, setup) >= 0) {
		struct egress_report reports;
		/*
		 * yett-dialer has no descriptors to send, and closing any could block. A dialer
		 * that sends some is ended, with what it sent.
		 */
		bool has_fds = frame_peek_fds(setup->egress.reports);
		ssize_t n = has_fds ? 0
		                    : recv(setup->egress.reports, &reports, sizeof reports,
		                           MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n != sizeof reports || reports.kind < EGRESS_REPORT_CONNECTED ||
		    reports.kind > EGRESS_REPORT_ASKED) {
			handle_end(setup, events);
			return;
		}
		heard->count++;
		supervisor_network_count(&setup->record.network, &reports);
		setup_publish(setup);
		events_report(events,
		              (struct message_happened){.kind = kinds[reports.kind],
		                                        .count = reports.count,
		                                        .error = (uint32_t)reports.error & 4095},
		              &(struct iovec){&reports, sizeof reports}, reports.lost);
	}
}
