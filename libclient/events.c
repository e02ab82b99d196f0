/* See "events" in yett.h: what happens in a sandbox. */
#include "libclient/sandbox.h"

#include <stdio.h>
#include <string.h>

struct yett_events {
	struct channel *channel;
	yett_event_fn each;
	void *data;
	char id[YETT_ID_SIZE];
	uint64_t number; /* of the last event; 0 before the first one, too */
	bool has_begun, has_ended;
};

/* calls.py: a name for each number, from 0 on; an empty one where there is none */
extern const char calls_text[], *const calls_end;

static const char *const kinds[] = {"followed",     "started",     "exited",        "failed",
                                    "timeout",      "oom",         "forks-refused", "paused",
                                    "resumed",      "ended",       "denied",        "connected",
                                    "disconnected", "unreachable", "blocked",       "full",
                                    "network-lost", "asked",       "unrecorded"};

static const char *const reasons[] = {"allowed",
                                      "a rule denies it",
                                      "no rule allows it",
                                      "its rule binds the name to other addresses",
                                      "it leads to a private address, which no rule names",
                                      "it leads to this host",
                                      "nothing may connect there",
                                      "nobody has allowed it"};
_Static_assert(ARRAY_SIZE(reasons) == NETWORK_VERDICT_MAX + 1, "each has a text");

const char *yett_blocked_text(enum yett_blocked why)
{
	return (size_t)why < ARRAY_SIZE(reasons) ? reasons[why] : "unknown";
}

const char *yett_peer_text(const struct yett_peer *peer, char out[YETT_PEER_SIZE])
{
	const char *host = *peer->name ? peer->name : peer->address;
	bool is_v6 = !*peer->name && strchr(host, ':');
	int used = snprintf(out, YETT_PEER_SIZE, "%s%.253s%s", is_v6 ? "[" : "", host,
	                    is_v6 ? "]" : "");

	if (peer->port)
		(void)snprintf(out + used, YETT_PEER_SIZE - (size_t)used, ":%u", peer->port);
	return out;
}

const char *yett_peer_rule(const struct yett_peer *peer, char out[YETT_PEER_RULE_SIZE])
{
	/* One that was asked about has an address only if the name is allowed, and its address is
	 * what is not. */
	bool is_bound = (peer->why == YETT_BLOCKED_PRIVATE || peer->why == YETT_BLOCKED_UNBOUND ||
	                 peer->why == YETT_BLOCKED_ASKED) &&
	                *peer->name && *peer->address;
	bool is_any = is_bound || peer->why == YETT_BLOCKED_NO_RULE ||
	              peer->why == YETT_BLOCKED_PRIVATE || peer->why == YETT_BLOCKED_ASKED;
	char text[YETT_PEER_SIZE];

	(void)snprintf(out, YETT_PEER_RULE_SIZE, "%s%s%.45s",
	               is_any ? yett_peer_text(peer, text) : "", is_bound ? "@" : "",
	               is_bound ? peer->address : "");
	return out;
}

const char *yett_event_name(enum yett_event_kind kind)
{
	return (size_t)kind < ARRAY_SIZE(kinds) ? kinds[kind] : "unknown";
}

const char *yett_call_name(uint32_t call)
{
	const char *name = calls_text;

	while (call-- && name < calls_end)
		name += strlen(name) + 1;
	return name < calls_end && *name ? name : NULL;
}

int yett_sandbox_follow(struct yett_connection *connection, const char *id_or_name,
                        yett_event_fn each, void *data, struct yett_events **ret_events,
                        struct yett_error *error)
{
	struct yett_events *events = calloc(1, sizeof *events);
	int fd, r;

	if (!events)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for an event stream");
	r = manage_stream(connection, id_or_name ? id_or_name : "", &fd, events->id, error);
	events->channel = r == 0 ? channel_take(fd, "the supervisor of the sandbox") : NULL;
	if (r == 0 && !events->channel)
		r = error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		              "no memory for an event stream");
	if (r) {
		free(events);
		return r;
	}
	events->each = each;
	events->data = data;
	*ret_events = events;
	return 0;
}

const char *yett_events_id(const struct yett_events *events)
{
	return events->id;
}

int yett_events_fd(const struct yett_events *events)
{
	return events->channel->fd;
}

void yett_events_free(struct yett_events *events)
{
	if (!events)
		return;
	channel_free(events->channel);
	free(events);
}

static struct yett_peer take_peer(const struct message *message)
{
	const struct message_connection *from = &message->body.event.connection;

	return (struct yett_peer){.name = message_text(message, from->name),
	                          .address = message_text(message, from->address),
	                          .port = (uint16_t)from->port,
	                          .why = (enum yett_blocked)from->verdict,
	                          .sent_bytes = from->sent_bytes,
	                          .received_bytes = from->received_bytes,
	                          .open = from->open,
	                          .rule = message_text(message, from->rule),
	                          .place = message_text(message, from->place)};
}

static void take_event(const struct message_event *from, const struct yett_result *result,
                       const struct yett_peer *peer, struct yett_event *to)
{
	bool has_peer = (from->kind >= EVENT_CONNECTED && from->kind <= EVENT_FULL) ||
	                from->kind == EVENT_ASKED;

	*to = (struct yett_event){
		.size = sizeof *to,
		.number = from->number,
		.time_ms = from->time_ms,
		.kind = (enum yett_event_kind)from->kind,
		.state = (enum yett_state)from->state,
		.command = from->command,
		.pid = from->pid,
		.result = from->kind == EVENT_EXITED ? result : NULL,
		.os_error = (int)from->error,
		.count = from->count,
		.call = from->call,
		.ended = from->kind == EVENT_ENDED ? connection_ended_of(from->ended)
	                                           : YETT_ENDED_NOT,
		.peer = has_peer ? peer : NULL,
	};
}

/* One message. The helper may be an impostor: numbers that do not grow are a breach. */
static int handle(struct yett_events *events, struct yett_error *error)
{
	struct channel *channel = events->channel;
	struct yett_result result;
	struct yett_event event;
	struct yett_peer peer;

	if (channel->message.kind != MESSAGE_EVENT)
		return channel_violation(channel, YETT_R_KIND, error,
		                         "a message of kind %u came on an event stream",
		                         channel->message.kind);
	result = command_result(&channel->message.body.event.result);
	peer = take_peer(&channel->message);
	take_event(&channel->message.body.event, &result, &peer, &event);
	if ((event.kind == YETT_EVENT_FOLLOWED) == events->has_begun || events->has_ended ||
	    (events->has_begun && event.number <= events->number))
		return channel_violation(channel, YETT_R_OUT_OF_ORDER, error,
		                         "the events of the sandbox are out of order");
	event.lost = events->has_begun ? event.number - events->number - 1 : 0;
	events->number = event.number;
	events->has_begun = true;
	events->has_ended = event.kind == YETT_EVENT_ENDED;
	events->each(&event, events->data);
	return 0;
}

int yett_events_dispatch(struct yett_events *events, struct yett_error *error)
{
	int r;

	do {
		r = channel_receive(events->channel, channel_deadline(0), error);
		if (r == 0)
			r = handle(events, error);
	} while (r == 0);
	if (r == YETT_E_NOT_RUNNING)
		return error_set(error, r, YETT_R_NONE,
		                 events->has_ended ? "the sandbox has ended"
		                                   : "the supervisor of the sandbox is gone");
	return r == -EAGAIN ? 0 : r;
}
