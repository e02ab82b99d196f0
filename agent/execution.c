/* SPDX-License-Identifier: Apache-2.0 */
/* See execution.h. */
#include "agent/execution.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/execution_parts.h"
#include "agent/event_log.h"
#include "agent/nonce.h"
#include "base/clock.h"

/* --- all executions --------------------------------------------------------------------------- */

struct executions *executions_new(void)
{
	return calloc(1, sizeof(struct executions));
}

static void free_execution(struct execution *execution)
{
	for (size_t i = 0; i < EXECUTION_PHASES; i++) {
		output_buffer_free(&execution->phases[i].out);
		output_buffer_free(&execution->phases[i].err);
	}
	output_buffer_free(&execution->both);
	json_decref(execution->metadata);
	json_decref(execution->warnings);
	json_decref(execution->denied);
	json_decref(execution->extra);
	free(execution->text);
	free(execution);
}

void executions_free(struct executions *executions)
{
	struct execution *execution;

	if (!executions)
		return;
	for (execution = executions->latest; execution; execution = execution->next) {
		while (execution->watches)
			execution_unwatch(execution->watches);
		execution_kill(execution);
		execution_end(execution, EXECUTION_KILLED, NULL);
	}
	while ((execution = executions->latest)) {
		executions->latest = execution->next;
		free_execution(execution);
	}
	json_decref(executions->statistics);
	free(executions);
}

static size_t size_of(const struct execution *execution)
{
	size_t size = output_buffer_size(&execution->both) +
	              json_string_length(json_object_get(execution->extra, "value"));

	for (size_t i = 0; i < EXECUTION_PHASES; i++)
		size += output_buffer_size(&execution->phases[i].out) +
		        output_buffer_size(&execution->phases[i].err);
	return size;
}

/* Unlinks and frees `*at`, which then points to the next older execution. */
static void execution_forget(struct execution **at)
{
	struct execution *old = *at;

	*at = old->next;
	free_execution(old);
}

/*
 * Forgets ended executions that exceed the number or the size kept. Returns the bytes that the
 * others keep.
 */
static size_t forget_old(struct executions *executions)
{
	struct execution **at = &executions->latest;
	size_t count = 0, size = 0, own;

	while (*at) {
		own = size_of(*at);
		if (execution_is_over(*at) &&
		    (count + 1 > EXECUTIONS_MAX || size + own > EXECUTION_OUTPUT_MAX)) {
			execution_forget(at);
			continue;
		}
		count++;
		size += own;
		at = &(*at)->next;
	}
	return size;
}

/*
 * When outputs reach their total limit, ended executions make room for running ones. If running
 * ones alone exceed the limit, only the end of new output is kept. Without this, a program that
 * writes without end, or many executions, could use up the memory.
 */
static void execution_make_room(struct executions *executions, struct output_buffer *buffer,
                                size_t length)
{
	if (output_buffer_grows(buffer, length) && forget_old(executions) > EXECUTION_OUTPUT_MAX)
		output_buffer_fill(buffer);
}

size_t executions_clean_up(struct agent *agent)
{
	struct execution **at = &agent->executions->latest;
	size_t count = 0;

	while (*at) {
		if (!execution_is_over(*at)) {
			at = &(*at)->next;
			continue;
		}
		execution_forget(at);
		count++;
	}
	return count;
}

void executions_each(struct agent *agent, void (*each)(struct execution *execution, void *data),
                     void *data)
{
	for (struct execution *execution = agent->executions->latest; execution;
	     execution = execution->next)
		each(execution, data);
}

struct execution *execution_find(struct agent *agent, const char *id)
{
	for (struct execution *execution = agent->executions->latest; execution;
	     execution = execution->next)
		if (strcmp(execution->id, id) == 0)
			return execution;
	return NULL;
}

/* Increments one counter of a language, or of "all". */
static void count_one(json_t *all, const char *language, const char *what)
{
	json_t *row = json_object_get(all, language);

	if (!row) {
		row = json_pack("{s:i, s:i, s:i}", "runs", 0, "failures", 0, "timeouts", 0);
		if (!row || json_object_set_new(all, language, row) != 0)
			return;
	}
	(void)json_object_set_new(row, what,
	                          json_integer(json_integer_value(json_object_get(row, what)) + 1));
}

static void execution_count(const struct execution *execution)
{
	const char *language = execution->language ? execution->language : "command";
	struct executions *executions = execution->agent->executions;

	if (!executions->statistics)
		executions->statistics = json_object();
	for (size_t i = 0; i < 2; i++) {
		count_one(executions->statistics, i == 0 ? "all" : language, "runs");
		if (execution->status != EXECUTION_COMPLETED)
			count_one(executions->statistics, i == 0 ? "all" : language, "failures");
		if (execution->status == EXECUTION_TIMED_OUT)
			count_one(executions->statistics, i == 0 ? "all" : language, "timeouts");
	}
}

uint64_t executions_count(const struct agent *agent)
{
	return agent->executions->count;
}

json_t *executions_statistics(struct agent *agent)
{
	return agent->executions->statistics ? json_deep_copy(agent->executions->statistics)
	                                     : json_object();
}

/* --- one execution ---------------------------------------------------------------------------- */

struct execution *execution_new(struct agent *agent, const char *language, const char *text,
                                size_t max_output)
{
	struct execution *execution = calloc(1, sizeof *execution);

	if (!execution || !(execution->text = strndup(text, EXECUTION_TEXT_MAX))) {
		free(execution);
		return NULL;
	}
	nonce_make(execution->id, EXECUTION_ID_SIZE - 1);
	execution->agent = agent;
	execution->language = language;
	execution->max_output = max_output;
	execution->number = agent->executions->count++;
	execution->happened = event_log_last(agent, NULL);
	execution->started_ms = clock_wall_ms();
	execution->next = agent->executions->latest;
	agent->executions->latest = execution;
	(void)forget_old(agent->executions);
	return execution;
}

bool execution_is_over(const struct execution *execution)
{
	return execution->status > EXECUTION_RUNNING;
}

static void report_ready(struct execution *execution)
{
	(void)snprintf(execution->sandbox, sizeof execution->sandbox, "%s", execution->handle->id);
	execution->status = EXECUTION_RUNNING;
	execution->happened = event_log_last(execution->agent, execution->handle->id);
	execution->on_ready(execution);
}

static void execution_made(struct handle *handle, const struct yett_error *error, void *data)
{
	struct execution *execution = data;

	execution->making = NULL;
	if (!handle) {
		event_log_add_refusal(execution->agent, execution->text, error);
		execution_end(execution, EXECUTION_FAILED, error);
		return;
	}
	execution->handle = handle;
	report_ready(execution);
}

int execution_keep(struct execution *execution, size_t length, struct yett_error *error)
{
	size_t bytes = length;

	for (const struct execution *at = execution->agent->executions->latest; at; at = at->next)
		bytes += execution_is_over(at) ? 0 : at->asked_bytes;
	if (bytes > EXECUTION_ASKED_MAX)
		return error_set(
			error, YETT_E_RESOURCE_LIMIT, YETT_R_TOO_LONG,
			"the requests of all running executions, with this one, would be more than %u MiB",
			EXECUTION_ASKED_MAX >> 20);
	execution->asked_bytes += length;
	return 0;
}

static int agent_execution_begin(struct execution *execution, const json_t *asked,
                                 struct yett_error *error)
{
	const char *sandbox = field_text(asked, "sandbox");
	size_t count = 0;
	int r;

	for (const struct execution *at = execution->agent->executions->latest; at; at = at->next)
		count += !execution_is_over(at);
	if (count > EXECUTIONS_MAX)
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "%d executions go on already", EXECUTIONS_MAX);
	r = execution_keep(execution, json_dumpb(asked, NULL, 0, JSON_COMPACT), error);
	if (r != 0)
		return r;
	if (sandbox && sandbox_request_is_any(asked))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"profile, shares, network and limits of an existing sandbox cannot change: leave out either these or \"sandbox\"");
	if (!sandbox) {
		execution->has_own = !execution->keeps_handle;
		return handle_make(execution->agent, asked, NULL, execution->keeps_handle,
		                   execution_made, execution, &execution->making, error);
	}
	r = handle_find(execution->agent, sandbox, &execution->handle, error);
	if (r == 0)
		r = execution_check_handle(execution->handle, error);
	if (r == 0)
		report_ready(execution);
	return r;
}

int execution_begin(struct execution *execution, const json_t *asked, struct yett_error *error)
{
	int r = agent_execution_begin(execution, asked, error);

	if (r != 0)
		event_log_add_refusal(execution->agent, execution->text, error);
	return r;
}

/* --- commands --------------------------------------------------------------------------------- */

void execution_add(struct execution *execution, enum execution_phase_name phase,
                   enum yett_stream stream, const char *bytes, size_t length)
{
	struct execution_phase *at = &execution->phases[phase];
	struct output_buffer *own = stream == YETT_STREAM_OUT ? &at->out : &at->err;
	struct execution_watch *next;

	execution_make_room(execution->agent->executions, own, length);
	output_buffer_add(own, bytes, length);
	execution_make_room(execution->agent->executions, &execution->both, length);
	output_buffer_add(&execution->both, bytes, length);
	for (struct execution_watch *watch = execution->watches; watch; watch = next) {
		next = watch->next;
		if (watch->output)
			watch->output(execution, stream, bytes, length, watch->data);
	}
}

/*
 * The sandbox did not report the end in time. The program may still run in the sandbox; do not
 * wait.
 */
static int on_overdue(sd_event_source *source, uint64_t at_us, void *data)
{
	struct execution *execution = data;
	struct yett_error error;

	(void)source;
	(void)at_us;
	(void)error_set(&error, YETT_E_TIMEOUT, YETT_R_NONE, "the sandbox does not answer");
	(void)snprintf(execution->why, sizeof execution->why,
	               "the time limit has passed; the sandbox does not answer");
	if (execution->is_killed)
		(void)snprintf(
			execution->why, sizeof execution->why,
			"the program was killed on request, and the sandbox does not answer");
	if (execution->command && execution_check_handle(execution->handle, NULL) == 0)
		/* Takes effect if the sandbox reads its channel again. */
		(void)!yett_command_signal(execution->command, SIGKILL, NULL);
	execution_end(execution, execution->is_killed ? EXECUTION_KILLED : EXECUTION_TIMED_OUT,
	              execution->is_killed ? NULL : &error);
	return 0;
}

int execution_bound(struct execution *execution, uint64_t ms)
{
	uint64_t us = (ms + EXECUTION_GRACE_MS) * 1000;
	int r;

	if (!execution->overdue)
		return sd_event_add_time_relative(execution->agent->loop, &execution->overdue,
		                                  CLOCK_MONOTONIC, us, 0, on_overdue, execution);
	r = sd_event_source_set_time_relative(execution->overdue, us);
	return r < 0 ? r : sd_event_source_set_enabled(execution->overdue, SD_EVENT_ONESHOT);
}

static enum execution_phase_name current_phase(const struct execution *execution)
{
	return execution->phases[EXECUTION_RUN].is_begun ? EXECUTION_RUN : EXECUTION_COMPILE;
}

static void execution_on_output(struct yett_command *command, enum yett_stream stream,
                                const char *bytes, size_t length, void *data)
{
	struct execution *execution = data;
	enum execution_phase_name phase = current_phase(execution);

	(void)command;
	execution_add(execution, phase, stream, bytes, length);
	if (execution->on_output)
		execution->on_output(execution, phase);
}

static void execution_end_command(struct execution *execution)
{
	enum execution_phase_name name = current_phase(execution);
	struct execution_phase *phase = &execution->phases[name];
	const struct yett_result *result;

	if (yett_command_wait(execution->command, 0, &result, &phase->error) == 0)
		phase->result = *result;
	phase->is_over = true;
	execution_input_close(execution);
	yett_command_free(steal_ptr(&execution->command));
	if (execution->on_phase)
		execution->on_phase(execution, name);
	else
		execution_end(execution, execution_judge(execution, name),
		              phase->error.code ? &phase->error : NULL);
}

static void on_exit_of_command(struct yett_command *command, void *data)
{
	struct execution *execution = data;

	(void)command;
	execution_end_command(execution);
}

static uint64_t monotonic_us(const struct agent *agent)
{
	uint64_t now = 0;

	(void)sd_event_now(agent->loop, CLOCK_MONOTONIC, &now);
	return now;
}

int execution_check_handle(const struct handle *handle, struct yett_error *error)
{
	uint64_t now = monotonic_us(handle->agent);

	for (const struct execution *at = handle->agent->executions->latest; at; at = at->next) {
		if (!at->command || strcmp(at->handle->id, handle->id) != 0 ||
		    yett_command_pid(at->command) != 0)
			continue;
		if (now - at->reported_us > (uint64_t)EXECUTION_SILENT_MS * 1000)
			return error_set(error, YETT_E_TIMEOUT, YETT_R_NONE,
			                 "the sandbox does not answer");
	}
	return 0;
}

int execution_start(struct execution *execution, enum execution_phase_name phase,
                    struct yett_command_options *options, bool keeps_input,
                    struct yett_error *error)
{
	int stdio[3] = {YETT_STDIO_NULL, YETT_STDIO_STREAM, YETT_STDIO_STREAM}, r;

	if (keeps_input && !options->input)
		stdio[0] = YETT_STDIO_PIPE;
	options->size = sizeof *options;
	options->stdio = stdio;
	options->on_exit = on_exit_of_command;
	options->on_output = execution_on_output;
	options->data = execution;
	output_buffer_free(&execution->both);
	r = yett_sandbox_exec(execution->handle->sandbox, options, &execution->command, error);
	options->stdio = NULL;
	if (r != 0)
		return r;
	execution->reported_us = monotonic_us(execution->agent);
	execution->phases[phase].is_begun = true;
	if (options->timeout_ms > 0 && execution_bound(execution, options->timeout_ms) < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for a command");
	return stdio[0] == YETT_STDIO_PIPE ? execution_input_open(execution, error) : 0;
}

uint64_t execution_time(const struct execution *execution, uint64_t ms)
{
	uint64_t most = yett_sandbox_get_info(execution->handle->sandbox)->max_command_timeout_ms;

	return most && most < ms ? most : ms;
}

int execution_signal(struct execution *execution, int number, struct yett_error *error)
{
	int r;

	if (number == SIGKILL && !execution_is_over(execution)) {
		execution_kill(execution);
		return 0;
	}
	if (execution->on_signal && !execution_is_over(execution))
		return execution->on_signal(execution, number, error);
	if (execution_is_over(execution) || !execution->command)
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "execution %s runs no command now", execution->id);
	r = execution_check_handle(execution->handle, error);
	return r == 0 ? yett_command_signal(execution->command, number, error) : r;
}

/*
 * Does not wait for an answer: code in the sandbox may keep init from answering, and other clients
 * must be served meanwhile. Killing the command also kills everything that it started.
 */
static void kill_command(struct execution *execution)
{
	if (execution_check_handle(execution->handle, NULL) != 0 ||
	    yett_command_signal(execution->command, SIGKILL, NULL) != 0 ||
	    execution_bound(execution, 0) < 0)
		execution_end(execution, EXECUTION_KILLED, NULL);
}

void execution_kill(struct execution *execution)
{
	if (execution_is_over(execution))
		return;
	execution->is_killed = true;
	if (execution->making || !execution->handle) {
		execution_end(execution, EXECUTION_KILLED, NULL);
	} else if (execution->on_kill) {
		execution->on_kill(execution);
	} else if (execution->has_own || !execution->command) {
		/* The sandbox ends, and everything in it; do not wait. */
		execution_end(execution, EXECUTION_KILLED, NULL);
	} else {
		kill_command(execution);
	}
}

void execution_end(struct execution *execution, enum execution_status status,
                   const struct yett_error *error)
{
	if (execution_is_over(execution))
		return;
	if (execution->making)
		handle_give_up(steal_ptr(&execution->making));
	execution->status = status;
	execution->ended_ms = clock_wall_ms();
	/* For a killed execution, the end of its sandbox is the expected result, not an error. */
	if (error && !(error->code == YETT_E_NOT_RUNNING && status == EXECUTION_KILLED))
		execution->error = *error;
	if (status == EXECUTION_KILLED && !execution->why[0])
		(void)snprintf(execution->why, sizeof execution->why,
		               "the program was killed on request");
	else if (execution->error.code && !execution->why[0])
		(void)snprintf(execution->why, sizeof execution->why, "%.150s",
		               execution->error.message);
	execution->overdue = sd_event_source_disable_unref(execution->overdue);
	execution_input_close(execution);
	if (execution->command)
		yett_command_free(steal_ptr(&execution->command));
	if (execution->on_end)
		execution->on_end(execution);
	if (execution->handle)
		execution->denied =
			event_log_denied(execution->agent, execution->handle->id,
		                         execution->happened, &execution->is_denied_more);
	execution->handle = handle_unref(execution->handle);
	execution_count(execution);
	execution_report_over(execution);
}

enum execution_status execution_judge(struct execution *execution, enum execution_phase_name phase)
{
	const struct execution_phase *at = &execution->phases[phase];
	const struct yett_result *result = &at->result;
	const char *what = phase == EXECUTION_COMPILE ? "the compiler" : "the program";
	char *why = execution->why;
	size_t size = sizeof execution->why;

	why[0] = '\0';
	if (at->error.code) {
		(void)snprintf(why, size, "%.150s", at->error.message);
		return execution->is_killed || at->error.code == YETT_E_NOT_RUNNING
		               ? EXECUTION_KILLED
		               : EXECUTION_FAILED;
	}
	if (result->timed_out)
		(void)snprintf(why, size, "%s reached its time limit, after %.1f s%s", what,
		               (double)result->wall_us / 1e6,
		               result->limits_hit & YETT_LIMIT_PIDS
		                       ? "; the limit of processes was reached"
		                       : "");
	else if (execution->is_killed)
		(void)snprintf(why, size, "%s was killed on request", what);
	else if (result->out_of_memory)
		(void)snprintf(why, size, "%s was killed: out of memory", what);
	else if (result->limits_hit & YETT_LIMIT_PIDS)
		(void)snprintf(why, size, "%s reached the limit of processes", what);
	else if (result->signaled)
		(void)snprintf(why, size, "%s was ended by the signal %s", what,
		               *result->signal_name ? result->signal_name
		                                    : "of a number without name");
	else if (result->status != 0)
		(void)snprintf(why, size, "%s exited with status %d", what, result->status);
	if (result->timed_out)
		return EXECUTION_TIMED_OUT;
	if (execution->is_killed)
		return EXECUTION_KILLED;
	return result->signaled || result->status != 0 ? EXECUTION_FAILED : EXECUTION_COMPLETED;
}
