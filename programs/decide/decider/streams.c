/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Event streams: forwards the events of supervisors to clients, as messages. See connection.h.
 *
 * Never waits for a client: a client that does not read in time loses events, and a gap in the
 * numbers of the events shows how many.
 */
#include "programs/decide/decider/connection.h"
#include "programs/decide/decider/rules.h"
#include "base/units_format.h"
#include "helper/plan/order.h"
#include "programs/net/egress.h"
#include "programs/net/report_text.h"
#include "protocol/message_command.h"

#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define AT_ONCE_MAX 32 /* events of one stream before the others get their turn */

/*
 * A packet of a supervisor. Clients get the union's contents only for events about connections, as
 * `network`.
 */
struct reports {
	struct message_happened event;
	union {
		struct egress_report network;
		uint8_t argv[INIT_ARGV_SIZE];
	};
};

struct stream {
	int events; /* from the supervisor: each packet is a struct reports, or its first part */
	int client; /* the decider's end of the client's socket pair */
	/*
	 * The number of events of file operations that were not forwarded, because only the audit
	 * needs them. It is subtracted from the number of each later event: the client would take a
	 * gap in the numbers for lost events.
	 */
	uint64_t kept;
};

static int decider_streams_watch(const struct connection *c, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(c->supervisors, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int streams_add(struct connection *c, int events)
{
	struct stream *streams = reallocarray(c->streams, c->streams_count + 1, sizeof *streams);
	int pair[2] = {-1, -1}, r = streams ? 0 : -ENOMEM;

	c->streams = streams ? streams : c->streams;
	if (r == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		r = -errno;
	if (r == 0)
		r = decider_streams_watch(c, events, EPOLLIN);
	if (r == 0)
		r = decider_streams_watch(c, pair[0],
		                          0); /* EPOLLHUP: the client has closed its end */
	if (r == 0) {
		c->streams[c->streams_count++] = (struct stream){events, pair[0], 0};
		return pair[1];
	}
	fd_close(events);
	fd_close(pair[0]);
	fd_close(pair[1]);
	return r;
}

static void decider_streams_end(struct connection *c, size_t i)
{
	fd_close(c->streams[i].events);
	fd_close(c->streams[i].client);
	c->streams[i] = c->streams[--c->streams_count];
}

/*
 * Adds the rule that allowed or denied a connection, with its file and line. The sandbox may have
 * been made under another policy than this connection's: file and line are added only if this
 * policy has the same rule.
 */
static int decider_streams_add_rule(const struct connection *c, uint32_t origin, const char *rule,
                                    struct message_connection *event)
{
	char same[NET_RULE_TEXT_SIZE], where[MESSAGE_PATH_MAX + 1] = "the request";
	bool is_of_request = origin >= RULES_OF_REQUEST;
	struct policy_place place = {NULL, 0};
	int r = message_add_text(c->message, rule, &event->rule);

	if (r < 0 || !*rule)
		return r;
	if (!is_of_request && (!rules_find(c->policy, origin, &place, same) ||
	                       strcmp(rule, same) != 0 || !place.file))
		return 0;
	if (!is_of_request)
		(void)units_append(where, sizeof where, "%s:%u", place.file, place.line);
	return message_add_text(c->message, where, &event->place);
}

static bool decider_streams_is_of_connection(const struct reports *reports, size_t size)
{
	enum event_kind kind = reports->event.kind;

	return size == offsetof(struct reports, network) + sizeof reports->network &&
	       ((kind >= EVENT_CONNECTED && kind <= EVENT_FULL) || kind == EVENT_ASKED);
}

static void pass_on(const struct connection *c, int client, const struct reports *reports)
{
	const struct egress_report *network = &reports->network;
	struct message_event *event;
	struct report_text text;

	if (reports->event.kind != EVENT_ENDED && !frame_has_room(client))
		return;
	event = &message_begin(c->message, MESSAGE_EVENT)->event;
	/* A struct message_event begins with the members of message_happened: message_helper.h. */
	memcpy(event, &reports->event, sizeof reports->event);
	event->connection = (struct message_connection){
		.port = network->port,
		.verdict = network->verdict <= NETWORK_VERDICT_MAX ? network->verdict : 0,
		.sent_bytes = network->sent_bytes,
		.received_bytes = network->received_bytes,
		.open = network->open};
	report_text_read(network, &text);
	if (message_add_text(c->message, text.name, &event->connection.name) < 0 ||
	    message_add_text(c->message, text.address, &event->connection.address) < 0 ||
	    decider_streams_add_rule(c, network->origin, text.rule, &event->connection) < 0)
		return;
	(void)!frame_send_message(client, c->message, 0, NULL, 0, MSG_DONTWAIT);
}

void streams_handle(struct connection *c, int fd)
{
	struct reports reports;
	ssize_t n = 0;
	size_t i = 0;

	while (i < c->streams_count && c->streams[i].events != fd && c->streams[i].client != fd)
		i++;
	if (i == c->streams_count)
		return;
	for (unsigned count = 0; fd == c->streams[i].events && count < AT_ONCE_MAX; count++) {
		n = recv(fd, &reports, sizeof reports, MSG_DONTWAIT);
		if (n < (ssize_t)sizeof reports.event)
			break;
		if (!decider_streams_is_of_connection(&reports, (size_t)n))
			memset(&reports.network, 0, sizeof reports.network);
		reports.event.number -= c->streams[i].kept;
		if (reports.event.command & MESSAGE_FILE_OPERATION)
			c->streams[i].kept++;
		else
			pass_on(c, c->streams[i].client, &reports);
	}
	if (n == 0 || (n < 0 && errno != EAGAIN))
		decider_streams_end(c, i);
}
