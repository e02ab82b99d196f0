/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See net.h: prints connection events as a table. The supervisor stores no past events, so the
 * table begins now.
 */
#include "cli/network/net.h"

#include <string.h>

#include "base/escape.h"
#include "cli/network/blocked.h"
#include "cli/output.h"
#include "cli/sandboxes/stats.h"

/*
 * Prints why a connection failed or was blocked, and the rule that decided, with its file and line.
 */
static void print_reason(const struct yett_event *e)
{
	const struct yett_peer *peer = e->peer;

	if (e->kind == YETT_EVENT_BLOCKED)
		(void)printf(" %s", yett_blocked_text(peer->why));
	if (e->kind == YETT_EVENT_UNREACHABLE)
		(void)printf(" %s", blocked_error_text(e->os_error));
	if (*peer->rule)
		(void)printf("%s rule '%s'", e->kind == YETT_EVENT_BLOCKED ? "," : "",
		             ESCAPE(peer->rule));
	if (*peer->place)
		(void)printf(" (%s)", ESCAPE(peer->place));
}

static void net_log_print_row(const char *name, const struct yett_event *e)
{
	char peer[BLOCKED_TEXT_SIZE] = "", sent[STATS_TEXT_SIZE], received[STATS_TEXT_SIZE];
	bool has_bytes = e->kind == YETT_EVENT_DISCONNECTED;

	if (e->peer)
		(void)blocked_print_peer(e->peer, peer);
	else if (e->kind == YETT_EVENT_NETWORK_LOST)
		(void)snprintf(peer, sizeof peer, "%s",
		               e->count ? "started again" : "and not started again");
	stats_size(sent, has_bytes, e->peer ? e->peer->sent_bytes : 0);
	stats_size(received, has_bytes, e->peer ? e->peer->received_bytes : 0);
	events_print_time(e->time_ms);
	(void)printf(" %-16.16s %-12s %5llu %6s %8s  %s", name, yett_event_name(e->kind),
	             (unsigned long long)e->count, sent, received, peer);
	if (e->peer && *e->peer->name && *e->peer->address)
		(void)printf(" (%s)", ESCAPE(e->peer->address));
	if (e->peer)
		print_reason(e);
	(void)putchar('\n');
}

static void net_log_print_event(const char *name, const char *id, const struct yett_event *e)
{
	if (e->lost && !output_json())
		(void)printf("%-12s %-16.16s lost %llu events\n", "", name,
		             (unsigned long long)e->lost);
	/* Keep the events that begin and end the log of a sandbox, and the network events. */
	if (e->kind != YETT_EVENT_FOLLOWED && e->kind != YETT_EVENT_ENDED &&
	    (e->kind < YETT_EVENT_CONNECTED || e->kind > YETT_EVENT_ASKED))
		return;
	if (output_json())
		events_print_json(output_json(), id, e);
	else
		net_log_print_row(name, e);
}

int net_log(struct yett_connection *connection, const struct net_arguments *arguments,
            struct yett_error *error)
{
	const struct events_wanted wanted = {arguments->operands, arguments->count, arguments->all};

	if (!output_json()) {
		(void)printf("%-12s %-16s %-12s %5s %6s %8s  %s\n", "TIME", "SANDBOX", "WHAT",
		             "COUNT", "SENT", "RECEIVED", "HOST");
		if (output_flush("to standard output", error))
			return YETT_E_FILE_OPERATION_FAILED;
	}
	return events_report(connection, &wanted, net_log_print_event, error);
}
