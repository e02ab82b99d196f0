/* SPDX-License-Identifier: Apache-2.0 */
/* See call.h. */
#include "agent/call.h"

#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/event_log.h"
#include "agent/problem.h"

struct call {
	struct agent *agent;
	const struct operation *operation; /* NULL: there is no such operation */
	json_t *asked, *answer;
	struct call_options options;
	enum call_outcome outcome;
	struct yett_error error;
	bool is_over, has_problem;
	void *work;
	void (*cancel)(void *work);
	sd_event_source *reporting; /* runs on_done from the loop, once the call is over */
};

static int call_report(sd_event_source *source, void *data)
{
	struct call *call = data;

	(void)source;
	call->reporting = sd_event_source_disable_unref(call->reporting);
	call->options.on_done(call, call->options.data);
	return 0;
}

static void agent_call_begin(struct call *call, const char *name, const json_t *arguments)
{
	struct yett_error error;

	if (!call->operation) {
		(void)error_set(&error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                "there is no operation %.80s", name);
		call_fail(call, &error);
		return;
	}
	call->asked = arguments ? json_incref((json_t *)arguments) : json_object();
	if (!call->asked || fields_check(call->operation->asked, call->asked, &error) != 0) {
		if (!call->asked)
			(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                "no memory for the request");
		call_fail(call, &error);
		return;
	}
	call->operation->begin(call);
}

struct call *call_begin(struct agent *agent, const struct operation *operation, const char *name,
                        const json_t *arguments, const struct call_options *options)
{
	struct call *call = calloc(1, sizeof *call);

	if (!call)
		return NULL;
	call->agent = agent;
	call->operation = operation;
	call->options = *options;
	if (sd_event_add_defer(agent->loop, &call->reporting, call_report, call) < 0 ||
	    sd_event_source_set_enabled(call->reporting, SD_EVENT_OFF) < 0) {
		call_free(call);
		return NULL;
	}
	agent_call_begin(call, name, arguments);
	return call;
}

bool call_is_over(const struct call *call)
{
	return call->is_over;
}

enum call_outcome call_outcome(const struct call *call)
{
	return call->outcome;
}

json_t *call_answer(const struct call *call)
{
	return call->answer;
}

const struct yett_error *call_error(const struct call *call)
{
	return call->has_problem ? &call->error : NULL;
}

void call_free(struct call *call)
{
	if (!call)
		return;
	if (!call->is_over && call->cancel)
		call->cancel(call->work);
	(void)sd_event_source_disable_unref(call->reporting);
	json_decref(call->asked);
	json_decref(call->answer);
	free(call);
}

struct agent *call_agent(const struct call *call)
{
	return call->agent;
}

const json_t *call_asked(const struct call *call)
{
	return call->asked;
}

void call_replace_asked(struct call *call, json_t *asked)
{
	json_decref(call->asked);
	call->asked = asked;
}

uint64_t call_patience_ms(const struct call *call)
{
	return call->options.patience_ms;
}

void call_set_work(struct call *call, void *work, void (*cancel)(void *work))
{
	call->work = work;
	call->cancel = cancel;
}

void call_progress(struct call *call, const char *text)
{
	if (!call->is_over && call->options.on_progress)
		call->options.on_progress(call, text, call->options.data);
}

void call_finish(struct call *call, json_t *answer, enum call_outcome outcome)
{
	struct yett_error error;

	if (!answer) {
		(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                "no memory for the answer");
		call_fail(call, &error);
		return;
	}
	call->answer = answer;
	call->outcome = outcome;
	call->is_over = true;
	call->cancel = NULL;
	/* The loop reports the end, so that call_begin() has returned to its caller before. */
	if (sd_event_source_set_enabled(call->reporting, SD_EVENT_ONESHOT) < 0)
		call->options.on_done(call, call->options.data);
}

void call_succeed(struct call *call, json_t *answer)
{
	call_finish(call, answer, CALL_SUCCEEDED);
}

void call_fail_with(struct call *call, const struct yett_error *error, json_t *answer)
{
	if (answer)
		(void)json_object_set_new(answer, "error", problem_json(error));
	call->error = *error;
	call->has_problem = true;
	call_finish(call, answer ? answer : json_null(), call_outcome_of(error->code));
}

/* Logs the refusal with a text like "sandboxes allow NAME". */
static void call_report_refusal(struct call *call, const struct yett_error *error)
{
	const char *action = field_text(call->asked, "action"),
		   *sandbox = field_text(call->asked, "sandbox");
	char text[160];

	(void)snprintf(text, sizeof text, "%s%s%.40s%s%.80s", call->operation->name,
	               action ? " " : "", action ? action : "", sandbox ? " " : "",
	               sandbox ? sandbox : "");
	event_log_add_refusal(call->agent, text, error);
}

void call_fail(struct call *call, const struct yett_error *error)
{
	if (call->asked)
		call_report_refusal(call, error);
	call_fail_with(call, error, json_object());
}
