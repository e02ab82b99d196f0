/* SPDX-License-Identifier: Apache-2.0 */
/* See blocked.h. */
#include "cli/network/blocked.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "cli/output.h"

#define END_MS 2000 /* how long to wait for the next event of a sandbox that was told to end */

const char *blocked_print_peer(const struct yett_peer *peer, char out[BLOCKED_TEXT_SIZE])
{
	char text[YETT_PEER_SIZE];

	return escape_text(yett_peer_text(peer, text), out, BLOCKED_TEXT_SIZE);
}

static const char *blocked_print_rule(const struct yett_peer *peer, char out[BLOCKED_TEXT_SIZE])
{
	char rule[YETT_PEER_RULE_SIZE];

	return escape_text(yett_peer_rule(peer, rule), out, BLOCKED_TEXT_SIZE);
}

/* Prints at once that a connection waits for a decision: the user can still allow it. */
static void report_asked(const struct blocked *blocked, const struct yett_peer *peer)
{
	char text[BLOCKED_TEXT_SIZE], rule[BLOCKED_TEXT_SIZE];

	output_note("network: waits for %s; allow it with yett net allow %s %s",
	            blocked_print_peer(peer, text), yett_events_id(blocked->events),
	            blocked_print_rule(peer, rule));
}

/*
 * Adds to the row of the same peer and reason, or makes a new row. `why` is a static text, so
 * comparing the pointers is enough.
 */
static void blocked_add(struct blocked_list *list, const struct blocked_row *row)
{
	size_t i = 0;

	while (i < list->count &&
	       (strcmp(list->rows[i].peer, row->peer) != 0 || list->rows[i].why != row->why))
		i++;
	if (i == BLOCKED_MAX) {
		list->others += row->count;
		return;
	}
	if (i == list->count) {
		list->rows[list->count++] = *row;
		return;
	}
	list->rows[i].count += row->count;
}

const char *blocked_error_text(int error)
{
	static const struct {
		int error;
		const char *text;
	} texts[] = {
		{0, "the name has no address"},
		{ENOENT, "there is no such name"},
		{EAGAIN, "its name server does not answer"},
		{ECONNREFUSED, "connection refused"},
		{ETIMEDOUT, "connection timed out"},
		{ENETUNREACH, "network is unreachable"},
		{EHOSTUNREACH, "no route to the host"},
		{ECONNRESET, "connection was reset"},
	};

	if (error >= YETT_EVENT_OF_PROXY)
		return "the proxy does not connect it";
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (texts[i].error == error)
			return texts[i].text;
	return strerrordesc_np(error) ? strerrordesc_np(error) : "unknown error";
}

static void blocked_take(const struct yett_event *event, void *data)
{
	struct blocked *blocked = data;
	struct blocked_row row = {.count = event->count};

	if (event->kind == YETT_EVENT_ASKED) {
		report_asked(blocked, event->peer);
		return;
	}
	if (event->kind != YETT_EVENT_BLOCKED && event->kind != YETT_EVENT_UNREACHABLE)
		return;
	(void)blocked_print_peer(event->peer, row.peer);
	if (event->kind == YETT_EVENT_UNREACHABLE) {
		row.why = blocked_error_text(event->os_error);
		blocked_add(&blocked->unreached, &row);
		return;
	}
	(void)blocked_print_rule(event->peer, row.mend);
	row.why = *row.mend ? "" : yett_blocked_text(event->peer->why);
	blocked_add(&blocked->denied, &row);
}

void blocked_begin(struct blocked *blocked, struct yett_connection *connection,
                   const struct yett_sandbox_info *info)
{
	*blocked = (struct blocked){0};
	if (info->network == YETT_NETWORK_LIMITED || info->network == YETT_NETWORK_OPEN)
		(void)!yett_sandbox_follow(connection, info->id, blocked_take, blocked,
		                           &blocked->events, NULL);
}

int blocked_fd(const struct blocked *blocked)
{
	return blocked->events ? yett_events_fd(blocked->events) : -1;
}

void blocked_read(struct blocked *blocked)
{
	if (!blocked->events || yett_events_dispatch(blocked->events, NULL) == 0)
		return;
	yett_events_free(blocked->events);
	blocked->events = NULL;
}

static void blocked_report(const char *what, const struct blocked_list *list)
{
	char line[1024], allow[1024] = "";
	size_t used = (size_t)snprintf(line, sizeof line, "network: %s", what), wanted = 0;

	if (list->count == 0)
		return;
	for (size_t i = 0; i < list->count && used < sizeof line; i++) {
		const struct blocked_row *row = &list->rows[i];
		char times[48] = "";

		if (row->count > 1)
			(void)snprintf(times, sizeof times, " (%llu times)",
			               (unsigned long long)row->count);
		used += (size_t)snprintf(line + used, sizeof line - used, "%s %s%s%s%s%s",
		                         i ? "," : "", row->peer, times, *row->why ? " (" : "",
		                         row->why, *row->why ? ")" : "");
		/* Add a rule as a whole or not at all: a truncated rule can allow more. */
		if (*row->mend && wanted + strlen(" --allow ") + strlen(row->mend) < sizeof allow)
			wanted += (size_t)snprintf(allow + wanted, sizeof allow - wanted,
			                           " --allow %s", row->mend);
	}
	if (used < sizeof line && list->others)
		(void)snprintf(line + used, sizeof line - used, " and %llu more",
		               (unsigned long long)list->others);
	output_note("%s%s%s", line, *allow ? "; allow with" : "", allow);
}

void blocked_end(struct blocked *blocked)
{
	struct pollfd wait = {.fd = blocked_fd(blocked), .events = POLLIN};

	/*
	 * The last event is the end of the sandbox, which can come later than the end of the
	 * command.
	 */
	while (blocked->events && poll(&wait, 1, END_MS) > 0)
		blocked_read(blocked);
	yett_events_free(blocked->events);
	blocked->events = NULL;
	blocked_report("denied", &blocked->denied);
	blocked_report("not reached", &blocked->unreached);
}
