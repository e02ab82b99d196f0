/* SPDX-License-Identifier: Apache-2.0 */
/* See event_log.h. */
#include "agent/event_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/call_outcome.h"
#include "agent/own.h"
#include "agent/problem.h"
#include "base/clock.h"

#define FOLLOWED_MAX 256

/* A sandbox whose events are received. */
struct followed {
	struct agent *agent;
	struct yett_events *events;
	sd_event_source *source;
	struct followed *next;
};

struct event_listener {
	struct agent *agent;
	event_fn each;
	void *data;
	struct event_listener *next;
};

struct event_log {
	struct agent *agent;
	json_t *ring[EVENT_LOG_MAX]; /* event n is at n % EVENT_LOG_MAX */
	uint64_t last;               /* number of the latest event; the first is 1 */
	struct followed *followed;
	size_t followed_count;
	bool is_for_all;
	struct event_listener *listeners;
};

const struct field event_fields[] = {
	{"number", FIELD_NUMBER, FIELD_REQUIRED, .description = "They are counted from 1 on"},
	{"time_ms", FIELD_NUMBER, FIELD_REQUIRED, .description = "Milliseconds since 1970"},
	{"kind", FIELD_TEXT, FIELD_REQUIRED,
         .description = "started, exited, blocked, denied, oom, ended, refused and so on"},
	{"sandbox", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"text", FIELD_TEXT, FIELD_REQUIRED, .description = "What happened, in words"},
	{"state", FIELD_TEXT, 0, .description = "Sandbox state"},
	{"command", FIELD_NUMBER, 0, .description = "The number of the command in the sandbox"},
	{"lost", FIELD_NUMBER, 0,
         .description = "How many earlier events were lost: they came too fast"},
	{"count", FIELD_NUMBER, 0},
	{"subject", FIELD_TEXT, 0,
         .description =
                 "The system call that was denied, or the other end of a connection: NAME:PORT"},
	{"why", FIELD_TEXT, 0, .description = "Why blocked"},
	{"rule", FIELD_TEXT, 0, .description = "The deciding rule"},
	{"place", FIELD_TEXT, 0, .description = "FILE:LINE of the rule"},
	{"error", FIELD_OBJECT, 0, .description = "For refused events; for blocked: network-denied",
         .fields = problem_fields},
	{0},
};

struct event_log *event_log_new(struct agent *agent)
{
	struct event_log *event_log = calloc(1, sizeof *event_log);

	if (event_log)
		event_log->agent = agent;
	return event_log;
}

static void agent_event_log_leave(struct followed *followed)
{
	struct event_log *event_log = followed->agent->event_log;

	for (struct followed **at = &event_log->followed; *at; at = &(*at)->next)
		if (*at == followed) {
			*at = followed->next;
			event_log->followed_count--;
			break;
		}
	(void)sd_event_source_disable_unref(followed->source);
	yett_events_free(followed->events);
	free(followed);
}

void event_log_free(struct event_log *event_log)
{
	if (!event_log)
		return;
	while (event_log->followed)
		agent_event_log_leave(event_log->followed);
	for (size_t i = 0; i < EVENT_LOG_MAX; i++)
		json_decref(event_log->ring[i]);
	free(event_log);
}

/* Takes ownership of `json`. */
static void event_log_add(struct event_log *event_log, json_t *json)
{
	json_t **place;

	if (!json || json_object_set_new(json, "number",
	                                 json_integer((json_int_t)event_log->last + 1)) != 0) {
		json_decref(json);
		return;
	}
	place = &event_log->ring[++event_log->last % EVENT_LOG_MAX];
	json_decref(*place);
	*place = json;
	for (struct event_listener *at = event_log->listeners; at; at = at->next)
		at->each(json, event_log->last, at->data);
}

void event_log_add_refusal(struct agent *agent, const char *text, const struct yett_error *error)
{
	enum call_outcome outcome = call_outcome_of(error->code);

	if (outcome != CALL_REFUSED && outcome != CALL_UNSUPPORTED &&
	    error->code != YETT_E_RESOURCE_LIMIT)
		return;
	/* A truncated text may end within a UTF-8 character, which JSON does not allow. */
	event_log_add(agent->event_log,
	              json_pack("{s:I, s:s, s:n, s:o, s:o}", "time_ms", (json_int_t)clock_wall_ms(),
	                        "kind", "refused", "sandbox", "text",
	                        field_make_text(text, strlen(text)), "error", problem_json(error)));
}

/* --- events of sandboxes ---------------------------------------------------------------------- */

static void peer_text(const struct yett_event *e, char *text, size_t size)
{
	const struct yett_peer *peer = e->peer;
	const char *why = e->kind == YETT_EVENT_BLOCKED ? yett_blocked_text(peer->why) : NULL;
	char port[8] = ""; /* stays empty for a name that was only looked up */

	if (peer->port)
		(void)snprintf(port, sizeof port, ":%u", peer->port);
	(void)snprintf(text, size, "%s%s%s%s%s%s%s%s%s%s", peer->name,
	               *peer->name && *peer->address ? " " : "", peer->address, port,
	               why ? ": " : "", why ? why : "", *peer->rule ? ", rule " : "", peer->rule,
	               *peer->place ? " at " : "", peer->place);
}

static void result_text(const struct yett_result *result, char *text, size_t size)
{
	if (result->signaled)
		(void)snprintf(text, size, "by the signal %s after %.2f s",
		               *result->signal_name ? result->signal_name
		                                    : "of a number without name",
		               (double)result->wall_us / 1e6);
	else
		(void)snprintf(text, size, "with status %d after %.2f s", result->status,
		               (double)result->wall_us / 1e6);
}

/* The details that the event's name does not have. */
static void event_text(const struct yett_event *e, char *text, size_t size)
{
	const char *name;

	text[0] = '\0';
	if (e->peer) {
		peer_text(e, text, size);
	} else if (e->kind == YETT_EVENT_EXITED && e->result) {
		result_text(e->result, text, size);
	} else if (e->kind == YETT_EVENT_DENIED) {
		name = yett_call_name(e->call);
		(void)snprintf(text, size, "the system call %s (%u) by process %u",
		               name ? name : "of a number without name", e->call, e->pid);
	} else if (e->kind == YETT_EVENT_ENDED) {
		(void)snprintf(text, size, "%s", yett_ended_name(e->ended));
	} else if (e->os_error) {
		(void)snprintf(text, size, "%s", strerror(e->os_error));
	} else if (e->pid) {
		(void)snprintf(text, size, "as process %u", e->pid);
	}
}

static void event_log_put_text(json_t *json, const char *name, const char *text)
{
	if (text && *text)
		(void)json_object_set_new(json, name, field_make_text(text, strlen(text)));
}

/* A blocked connection, in the form of other refusals. */
static json_t *denied_json(const struct yett_peer *peer)
{
	char text[YETT_PEER_SIZE], rule[YETT_PEER_RULE_SIZE];
	struct yett_error error;
	char *line;

	(void)error_set(&error, YETT_E_NETWORK_DENIED, YETT_R_NONE, "%s: %s",
	                yett_peer_text(peer, text), yett_blocked_text(peer->why));
	(void)snprintf(error.rule, sizeof error.rule, "%s", peer->rule);
	(void)snprintf(error.file, sizeof error.file, "%.255s", peer->place);
	line = strrchr(error.file, ':'); /* "the request" has no line number */
	if (line) {
		*line = '\0';
		error.line = (unsigned)strtoul(line + 1, NULL, 10);
	}
	if (*yett_peer_rule(peer, rule))
		error_mend(&error, "\"allow\": [\"%s\"] where the sandbox is made", rule);
	return problem_json(&error);
}

/* Adds subject and reason as separate members, so that programs need not parse the text. */
static void put_reason(json_t *json, const struct yett_event *e)
{
	const struct yett_peer *peer = e->peer;
	char subject[YETT_PEER_SIZE];

	if (e->kind == YETT_EVENT_DENIED)
		event_log_put_text(json, "subject", yett_call_name(e->call));
	if (!peer)
		return;
	event_log_put_text(json, "subject", yett_peer_text(peer, subject));
	if (e->kind == YETT_EVENT_BLOCKED) {
		event_log_put_text(json, "why", yett_blocked_text(peer->why));
		(void)json_object_set_new(json, "error", denied_json(peer));
	}
	event_log_put_text(json, "rule", peer->rule);
	event_log_put_text(json, "place", peer->place);
}

static void on_event(const struct yett_event *e, void *data)
{
	struct followed *followed = data;
	char text[1200];
	json_t *json;

	event_text(e, text, sizeof text);
	json = json_pack("{s:I, s:s, s:s, s:o, s:s}", "time_ms", (json_int_t)e->time_ms, "kind",
	                 yett_event_name(e->kind), "sandbox", yett_events_id(followed->events),
	                 "text", field_make_text(text, strlen(text)), "state",
	                 yett_state_name(e->state));
	if (json && e->command)
		(void)json_object_set_new(json, "command", json_integer((json_int_t)e->command));
	if (json && e->lost)
		(void)json_object_set_new(json, "lost", json_integer((json_int_t)e->lost));
	if (json && e->count)
		(void)json_object_set_new(json, "count", json_integer((json_int_t)e->count));
	if (json)
		put_reason(json, e);
	event_log_add(followed->agent->event_log, json);
}

/* Reads pending events. Stops following the sandbox when its events end. */
static void event_log_hear(struct followed *followed)
{
	if (yett_events_dispatch(followed->events, NULL) != 0)
		agent_event_log_leave(followed);
}

static int on_events(sd_event_source *source, int fd, uint32_t events, void *data)
{
	(void)source;
	(void)fd;
	(void)events;
	event_log_hear(data);
	return 0;
}

static struct followed *find_followed(const struct event_log *event_log, const char *id)
{
	for (struct followed *followed = event_log->followed; followed; followed = followed->next)
		if (strcmp(yett_events_id(followed->events), id) == 0)
			return followed;
	return NULL;
}

/* Follows a sandbox that is not followed yet. */
static int agent_event_log_follow(struct agent *agent, const char *id, struct yett_error *error)
{
	struct event_log *event_log = agent->event_log;
	struct yett_connection *connection;
	struct followed *followed;
	unsigned tries = 0;
	int r;

	if (event_log->followed_count >= FOLLOWED_MAX)
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "%d sandboxes are followed already", FOLLOWED_MAX);
	followed = calloc(1, sizeof *followed);
	if (!followed)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory to follow a sandbox");
	followed->agent = agent;
	do {
		r = agent_connect(agent, &connection, error);
		if (r == 0)
			r = yett_sandbox_follow(connection, id, on_event, followed,
			                        &followed->events, error);
	} while (agent_is_to_repeat(agent, r, error, &tries));
	if (r == 0 &&
	    sd_event_add_io(agent->loop, &followed->source, yett_events_fd(followed->events),
	                    EPOLLIN, on_events, followed) < 0)
		r = error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		              "no memory to follow a sandbox");
	if (r != 0) {
		yett_events_free(followed->events);
		free(followed);
		return r;
	}
	followed->next = event_log->followed;
	event_log->followed = followed;
	event_log->followed_count++;
	return 0;
}

void event_log_follow_handle(struct agent *agent, const struct yett_sandbox_info *info, bool stays)
{
	bool has_rules =
		info->network == YETT_NETWORK_LIMITED || info->network == YETT_NETWORK_OPEN;
	struct yett_error ignored; /* the sandbox works without events, too */

	if ((stays || has_rules || agent->event_log->is_for_all) &&
	    !find_followed(agent->event_log, info->id))
		(void)!agent_event_log_follow(agent, info->id, &ignored);
}

int event_log_follow(struct agent *agent, const char *id_or_name, char ret_id[YETT_ID_SIZE],
                     struct yett_error *error)
{
	const struct followed *followed = find_followed(agent->event_log, id_or_name);
	char id[YETT_ID_SIZE];
	int r;

	if (followed) {
		(void)strcpy(ret_id, yett_events_id(followed->events));
		return 0;
	}
	r = own_find(agent, id_or_name, id, error);
	if (r == 0 && !find_followed(agent->event_log, id))
		r = agent_event_log_follow(agent, id, error);
	if (r == 0)
		(void)strcpy(ret_id, id);
	return r;
}

int event_log_follow_all(struct agent *agent, struct yett_error *error)
{
	struct yett_connection *connection;
	struct yett_sandbox_list *list;
	const struct yett_sandbox_status *status;
	struct yett_error reason;
	unsigned tries = 0;
	int r;

	agent->event_log->is_for_all = true;
	do {
		r = agent_connect(agent, &connection, &reason);
		if (r == 0)
			r = yett_sandboxes_list(connection, geteuid() == 0 ? YETT_LIST_ALL : 0,
			                        &list, &reason);
	} while (agent_is_to_repeat(agent, r, &reason, &tries));
	if (r != 0) {
		*error = reason;
		return r;
	}
	for (size_t i = 0; i < yett_sandbox_list_count(list); i++) {
		status = yett_sandbox_list_get(list, i);
		/*
		 * Ignore failures: the sandbox may end meanwhile, or have the maximum of eight
		 * followers.
		 */
		if (own_is(agent, status) &&
		    (status->state == YETT_STATE_RUNNING || status->state == YETT_STATE_PAUSED) &&
		    !find_followed(agent->event_log, status->info->id))
			(void)!agent_event_log_follow(agent, status->info->id, &reason);
	}
	yett_free(list);
	return 0;
}

/* --- listeners -------------------------------------------------------------------------------- */

struct event_listener *event_log_listen(struct agent *agent, event_fn each, void *data)
{
	struct event_listener *listener = malloc(sizeof *listener);

	if (!listener)
		return NULL;
	*listener = (struct event_listener){agent, each, data, agent->event_log->listeners};
	agent->event_log->listeners = listener;
	return listener;
}

void event_log_leave(struct event_listener *listener)
{
	for (struct event_listener **at = &listener->agent->event_log->listeners; *at;
	     at = &(*at)->next)
		if (*at == listener) {
			*at = listener->next;
			break;
		}
	free(listener);
}

json_t *event_log_list(struct agent *agent, const char *sandbox, uint64_t after, size_t max,
                       uint64_t *ret_last)
{
	const struct event_log *event_log = agent->event_log;
	uint64_t first = event_log->last > EVENT_LOG_MAX ? event_log->last - EVENT_LOG_MAX + 1 : 1;
	json_t *list = json_array(), *one;

	*ret_last = after < event_log->last ? after : event_log->last;
	for (uint64_t n = after + 1 > first ? after + 1 : first;
	     n <= event_log->last && json_array_size(list) < max; n++) {
		one = event_log->ring[n % EVENT_LOG_MAX];
		*ret_last = n;
		if (!sandbox || (json_is_string(json_object_get(one, "sandbox")) &&
		                 strcmp(field_text(one, "sandbox"), sandbox) == 0))
			(void)json_array_append(list, one);
	}
	return list;
}

static bool has_one(const json_t *list, const json_t *one)
{
	bool is_in = false;

	for (size_t i = 0; !is_in && i < json_array_size(list); i++)
		is_in = json_equal(json_array_get(list, i), one);
	return is_in;
}

static void catch_up(struct agent *agent, const char *sandbox)
{
	struct followed *followed = find_followed(agent->event_log, sandbox);

	if (followed)
		event_log_hear(followed);
}

json_t *event_log_denied(struct agent *agent, const char *sandbox, uint64_t after, bool *ret_is_cut)
{
	json_t *denied = json_array(), *events, *event, *error;
	uint64_t last;
	size_t i;

	catch_up(agent, sandbox);
	*ret_is_cut = agent->event_log->last - after > EVENT_LOG_MAX;
	events = event_log_list(agent, sandbox, after, EVENT_LOG_MAX, &last);
	json_array_foreach(events, i, event)
	{
		error = json_object_get(event, "error");
		*ret_is_cut = *ret_is_cut || json_object_get(event, "lost");
		if (!error || has_one(denied, error))
			continue;
		if (json_array_size(denied) < EVENT_LOG_DENIED_MAX)
			(void)json_array_append(denied, error);
		else
			*ret_is_cut = true;
	}
	json_decref(events);
	return denied;
}

uint64_t event_log_last(struct agent *agent, const char *sandbox)
{
	if (sandbox)
		catch_up(agent, sandbox);
	return agent->event_log->last;
}
