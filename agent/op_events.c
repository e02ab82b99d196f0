/* SPDX-License-Identifier: Apache-2.0 */
/* The operation events: returns events since the last call, or waits for the next ones. */
#include <string.h>

#include "agent/event_log.h"
#include "agent/op.h"

#define WAIT_MAX_MS 60000

const struct field op_events_asked[] = {
	{"sandbox", FIELD_TEXT, FIELD_NULLABLE, 1, 64,
         "Only events of this sandbox, an id or name; default: all yours"},
	{"after", FIELD_NUMBER, FIELD_NULLABLE, 0, INT64_MAX,
         "Only events after this number: `last` of the previous call", .fallback = "0"},
	{"wait", FIELD_DURATION, FIELD_NULLABLE, 0, WAIT_MAX_MS,
         "How long to wait if there is no event yet", .fallback = "0"},
	{"max", FIELD_NUMBER, FIELD_NULLABLE, 1, 1000, "The most events to list",
         .fallback = "100"},
	{0},
};

const struct field op_events_answered[] = {
	{"events", FIELD_OBJECTS, 0, .description = "In the order in which they came",
         .fields = event_fields},
	{"last", FIELD_NUMBER, 0, .description = "`after` for the next call"},
	PROBLEM_FIELD,
	{0},
};

/* A call that waits for events. */
struct waiting {
	struct call *call;
	struct event_listener *listener;
	sd_event_source *timer;
	/* Answers after the callback has returned: a event_fn must not free its listener. */
	sd_event_source *reporting;
};

static size_t op_events_answer(struct call *call, bool is_last)
{
	const json_t *asked = call_asked(call);
	uint64_t last;
	json_t *list = event_log_list(call_agent(call), field_text(asked, "sandbox"),
	                              (uint64_t)field_number(asked, "after", 0),
	                              (size_t)field_number(asked, "max", 100), &last);
	size_t count = json_array_size(list);

	if (count == 0 && !is_last) {
		json_decref(list);
		return 0;
	}
	call_succeed(call, json_pack("{s:o, s:I}", "events", list, "last", (json_int_t)last));
	return count;
}

static void op_events_free_waiting(void *work)
{
	struct waiting *waiting = work;

	if (waiting->listener)
		event_log_leave(waiting->listener);
	(void)sd_event_source_disable_unref(waiting->timer);
	(void)sd_event_source_disable_unref(waiting->reporting);
	free(waiting);
}

static void op_events_on_logged(const json_t *json, uint64_t number, void *data)
{
	struct waiting *waiting = data;

	(void)json;
	(void)number;
	(void)sd_event_source_set_enabled(waiting->reporting, SD_EVENT_ONESHOT);
}

static int on_reporting(sd_event_source *source, void *data)
{
	struct waiting *waiting = data;

	(void)source;
	if (op_events_answer(waiting->call, false) > 0)
		op_events_free_waiting(waiting);
	return 0;
}

static int op_events_on_time(sd_event_source *source, uint64_t at_us, void *data)
{
	struct waiting *waiting = data;

	(void)source;
	(void)at_us;
	(void)op_events_answer(waiting->call, true);
	op_events_free_waiting(waiting);
	return 0;
}

static int wait_on(struct call *call, uint64_t ms)
{
	struct waiting *waiting = calloc(1, sizeof *waiting);
	sd_event *loop = call_agent(call)->loop;

	if (!waiting)
		return -ENOMEM;
	waiting->call = call;
	waiting->listener = event_log_listen(call_agent(call), op_events_on_logged, waiting);
	if (!waiting->listener ||
	    sd_event_add_time_relative(loop, &waiting->timer, CLOCK_MONOTONIC, ms * 1000, 1000,
	                               op_events_on_time, waiting) < 0 ||
	    sd_event_add_defer(loop, &waiting->reporting, on_reporting, waiting) < 0 ||
	    sd_event_source_set_enabled(waiting->reporting, SD_EVENT_OFF) < 0) {
		op_events_free_waiting(waiting);
		return -ENOMEM;
	}
	call_set_work(call, waiting, op_events_free_waiting);
	return 0;
}

/*
 * Follows a sandbox, and replaces its name in the request by its id, which is what events contain.
 */
static int follow_one(struct call *call, const char *sandbox, struct yett_error *error)
{
	char id[YETT_ID_SIZE];
	json_t *asked;
	int r = event_log_follow(call_agent(call), sandbox, id, error);

	if (r != 0)
		return r;
	asked = json_copy((json_t *)call_asked(call));
	if (!asked || json_object_set_new(asked, "sandbox", json_string(id)) != 0) {
		json_decref(asked);
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a call");
	}
	call_replace_asked(call, asked);
	return 0;
}

void op_events(struct call *call)
{
	const char *sandbox = field_text(call_asked(call), "sandbox");
	uint64_t wait_ms = field_duration_ms(call_asked(call), "wait", 0);
	struct yett_error error;
	int r = sandbox ? follow_one(call, sandbox, &error)
	                : event_log_follow_all(call_agent(call), &error);

	/* Earlier events of a sandbox that has ended can still be returned. */
	if (r != 0 && !(sandbox && (r == YETT_E_NOT_RUNNING || r == YETT_E_NOT_FOUND) &&
	                op_events_answer(call, false) > 0)) {
		call_fail(call, &error);
		return;
	}
	if (r != 0 || op_events_answer(call, wait_ms == 0) > 0 || call_is_over(call))
		return;
	if (wait_on(call, wait_ms) < 0) {
		(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a call");
		call_fail(call, &error);
	}
}
