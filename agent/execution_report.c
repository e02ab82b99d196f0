/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on executions: answers, lists and watches. See execution.h. */
#include <stdio.h>
#include <string.h>

#include "agent/execution_parts.h"

#define PROGRESS_US 1000000

static const char *const status_names[] = {"pending",   "running", "completed", "failed",
                                           "timed_out", "killed",  NULL};

const char *execution_status_name(enum execution_status status)
{
	return status_names[status];
}

static const struct field phase_fields[] = {
	{"success", FIELD_BOOL, FIELD_REQUIRED},
	{"exit_code", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{"signal", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"duration", FIELD_REAL, FIELD_REQUIRED, .description = "Seconds"},
	{"cpu", FIELD_REAL, FIELD_REQUIRED, .description = "Seconds of processor time"},
	{"memory_used_bytes", FIELD_NUMBER, FIELD_REQUIRED, .description = "Peak memory use"},
	{"read_bytes", FIELD_NUMBER, 0, .description = "Read from disks; absent: none"},
	{"written_bytes", FIELD_NUMBER, 0, .description = "To disks; absent: none"},
	{"stdout", FIELD_TEXT, 0,
         .description = "Only of the compiler: the answer itself has the program's outputs"},
	{"stderr", FIELD_TEXT, 0},
	{0},
};

static const struct field file_fields[] = {
	{"stdout", FIELD_TEXT, FIELD_REQUIRED},
	{"stderr", FIELD_TEXT, FIELD_REQUIRED},
	{"output", FIELD_TEXT, FIELD_REQUIRED},
	{0},
};

const struct field execution_fields[] = {
	{"id", FIELD_TEXT, 0, .description = "The execution's id, for wait_command and read_file"},
	{"status", FIELD_CHOICE, 0, .choices = status_names,
         .description = "running: ask again with wait_command"},
	{"success", FIELD_BOOL, 0, .description = "The run ended with status 0"},
	{"exit_code", FIELD_NUMBER, FIELD_NULLABLE,
         .description = "null: still running, never started, or ended by a signal"},
	{"signal", FIELD_TEXT, FIELD_NULLABLE,
         .description = "The signal that ended it: KILL, SEGV"},
	{"stdout", FIELD_TEXT, 0,
         .description = "Standard output; if that is long, the first and last part"},
	{"stderr", FIELD_TEXT, 0, .description = "Standard error, likewise"},
	{"output", FIELD_TEXT, 0,
         .description = "Both in the order of arrival, if neither is empty"},
	{"why", FIELD_TEXT, FIELD_NULLABLE, .description = "Why the run failed; null: no failure"},
	{"duration", FIELD_REAL, 0, .description = "Seconds that the last phase took"},
	{"memory_used_bytes", FIELD_NUMBER, 0, .description = "Peak memory use"},
	{"read_bytes", FIELD_NUMBER, 0, .description = "Read from disks; absent: none"},
	{"written_bytes", FIELD_NUMBER, 0, .description = "To disks; absent: none"},
	{"truncated", FIELD_BOOL, 0,
         .description = "An output is longer than shown here: files has paths of the whole"},
	{"files", FIELD_OBJECT, 0, .description = "Where read_file finds the whole outputs",
         .fields = file_fields},
	{"denied", FIELD_OBJECTS, 0,
         .description = "Connections that rules refused, each with the rule to allow it",
         .fields = problem_fields},
	{"denied_more", FIELD_BOOL, 0, .description = "There were more, or some were not reported"},
	{"warnings", FIELD_TEXTS, 0, .description = "Advice about the code"},
	{"sandbox", FIELD_TEXT, FIELD_NULLABLE,
         .description = "The sandbox of the run, if the sandbox stays"},
	{"language", FIELD_TEXT, FIELD_NULLABLE,
         .description = "The language of code; null or missing: a command"},
	{"started_ms", FIELD_NUMBER, 0, .description = "Milliseconds since 1970"},
	{"ended_ms", FIELD_NUMBER, FIELD_NULLABLE,
         .description = "Milliseconds since 1970; null: still running"},
	{"metadata", FIELD_MAP, 0, .description = "From the request"},
	{"compile", FIELD_OBJECT, FIELD_NULLABLE, .description = "How compiling went",
         .fields = phase_fields},
	{"run", FIELD_OBJECT, FIELD_NULLABLE, .description = "How running went",
         .fields = phase_fields},
	{"value", FIELD_TEXT, FIELD_NULLABLE,
         .description = "With mode kept: the value of the last expression"},
	{"directory", FIELD_TEXT, 0,
         .description = "In a sandbox that stays: the directory of the code and files"},
	{"version", FIELD_TEXT, FIELD_NULLABLE,
         .description = "With ensure: the language's version"},
	PROBLEM_FIELD,
	{0},
};

const struct field execution_line_fields[] = {
	{"id", FIELD_TEXT, FIELD_REQUIRED},
	{"status", FIELD_CHOICE, FIELD_REQUIRED, .choices = status_names},
	{"language", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"text", FIELD_TEXT, FIELD_REQUIRED, .description = "The command, or how the code begins"},
	{"sandbox", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"why", FIELD_TEXT, FIELD_REQUIRED | FIELD_NULLABLE},
	{"started_ms", FIELD_NUMBER, FIELD_REQUIRED},
	{"ended_ms", FIELD_NUMBER, FIELD_REQUIRED | FIELD_NULLABLE},
	{0},
};

static bool has_result(const struct execution_phase *phase)
{
	return phase->is_over && !phase->error.code;
}

static void execution_report_put_result(json_t *json, const struct execution_phase *phase)
{
	const struct yett_result *result = &phase->result;
	bool is_exit = has_result(phase) && !result->signaled,
	     is_signal = has_result(phase) && result->signaled;

	(void)json_object_set_new(json, "exit_code",
	                          is_exit ? json_integer(result->status) : json_null());
	(void)json_object_set_new(json, "signal",
	                          is_signal ? field_make_text_or_null(result->signal_name)
	                                    : json_null());
	(void)json_object_set_new(json, "duration", json_real((double)result->wall_us / 1e6));
	(void)json_object_set_new(json, "memory_used_bytes",
	                          json_integer((json_int_t)result->memory_peak_bytes));
	if (result->read_bytes)
		(void)json_object_set_new(json, "read_bytes",
		                          json_integer((json_int_t)result->read_bytes));
	if (result->written_bytes)
		(void)json_object_set_new(json, "written_bytes",
		                          json_integer((json_int_t)result->written_bytes));
}

static json_t *phase_json(const struct execution *execution, enum execution_phase_name name)
{
	const struct execution_phase *phase = &execution->phases[name];
	const struct yett_result *result = &phase->result;
	bool is_cut;
	json_t *json;

	if (!phase->is_begun)
		return json_null();
	json = json_pack("{s:b, s:f}", "success",
	                 has_result(phase) && !result->signaled && result->status == 0, "cpu",
	                 (double)(result->user_us + result->system_us) / 1e6);
	if (!json)
		return NULL;
	execution_report_put_result(json, phase);
	if (name == EXECUTION_COMPILE) {
		(void)json_object_set_new(
			json, "stdout",
			output_buffer_json(&phase->out, execution->max_output, NULL, &is_cut));
		(void)json_object_set_new(
			json, "stderr",
			output_buffer_json(&phase->err, execution->max_output, NULL, &is_cut));
	}
	return json;
}

static const struct execution_phase *last_phase(const struct execution *execution)
{
	const struct execution_phase *run = &execution->phases[EXECUTION_RUN],
				     *compile = &execution->phases[EXECUTION_COMPILE];

	return run->is_begun || !compile->is_begun ? run : compile;
}

const struct output_buffer *execution_output(const struct execution *execution, const char *name)
{
	if (strcmp(name, "stdout") == 0)
		return &last_phase(execution)->out;
	if (strcmp(name, "stderr") == 0)
		return &last_phase(execution)->err;
	return strcmp(name, "output") == 0 ? &execution->both : NULL;
}

/* Adds the truncated outputs of the last phase, and the names of the full outputs. */
static void execution_report_put_outputs(json_t *json, const struct execution *execution)
{
	static const char *const outputs[] = {"stdout", "stderr", "output"};
	const struct execution_phase *phase = last_phase(execution);
	bool is_cut, is_any = false, are_both = phase->out.total > 0 && phase->err.total > 0;
	json_t *files = json_object();
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(outputs); i++) {
		(void)snprintf(name, sizeof name, "run:%s/%s", execution->id, outputs[i]);
		(void)json_object_set_new(files, outputs[i], json_string(name));
		if (i == 2 && !are_both)
			continue;
		(void)json_object_set_new(
			json, outputs[i],
			output_buffer_json(execution_output(execution, outputs[i]),
		                           execution->max_output, name, &is_cut));
		is_any = is_any || is_cut;
	}
	(void)json_object_set_new(json, "truncated", json_boolean(is_any));
	if (is_any)
		(void)json_object_set(json, "files", files);
	json_decref(files);
}

json_t *execution_json(const struct execution *execution)
{
	json_t *json = json_pack("{s:s, s:s, s:b, s:I}", "id", execution->id, "status",
	                         execution_status_name(execution->status), "success",
	                         execution->status == EXECUTION_COMPLETED, "started_ms",
	                         (json_int_t)execution->started_ms);

	if (!json)
		return NULL;
	(void)json_object_set_new(
		json, "ended_ms",
		execution->ended_ms ? json_integer((json_int_t)execution->ended_ms) : json_null());
	(void)json_object_set_new(json, "why", field_make_text_or_null(execution->why));
	(void)json_object_set_new(json, "sandbox",
	                          execution->has_own ? json_null()
	                                             : field_make_text_or_null(execution->sandbox));
	execution_report_put_result(json, last_phase(execution));
	execution_report_put_outputs(json, execution);
	if (execution->language) {
		(void)json_object_set_new(json, "language", json_string(execution->language));
		(void)json_object_set_new(json, "compile",
		                          phase_json(execution, EXECUTION_COMPILE));
		(void)json_object_set_new(json, "run", phase_json(execution, EXECUTION_RUN));
	}
	if (json_array_size(execution->denied) > 0)
		(void)json_object_set(json, "denied", execution->denied);
	if (execution->is_denied_more)
		(void)json_object_set_new(json, "denied_more", json_true());
	if (execution->warnings)
		(void)json_object_set(json, "warnings", execution->warnings);
	if (execution->metadata)
		(void)json_object_set(json, "metadata", execution->metadata);
	if (execution->extra)
		(void)json_object_update(json, execution->extra);
	return json;
}

json_t *execution_line_json(const struct execution *execution)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:I, s:o}", "id", execution->id, "status",
	                 execution_status_name(execution->status), "language",
	                 field_make_text_or_null(execution->language), "text",
	                 field_make_text(execution->text, strlen(execution->text)), "sandbox",
	                 field_make_text_or_null(execution->sandbox), "why",
	                 field_make_text_or_null(execution->why), "started_ms",
	                 (json_int_t)execution->started_ms, "ended_ms",
	                 execution->ended_ms ? json_integer((json_int_t)execution->ended_ms)
	                                     : json_null());
}

/* --- watches ---------------------------------------------------------------------------------- */

struct execution_watch *execution_watch(struct execution *execution, execution_output_fn output,
                                        execution_over_fn over, void *data)
{
	struct execution_watch *watch = malloc(sizeof *watch);

	if (!watch)
		return NULL;
	*watch = (struct execution_watch){.execution = execution,
	                                  .output = output,
	                                  .over = over,
	                                  .data = data,
	                                  .next = execution->watches};
	execution->watches = watch;
	return watch;
}

void execution_unwatch(struct execution_watch *watch)
{
	for (struct execution_watch **at = &watch->execution->watches; *at; at = &(*at)->next)
		if (*at == watch) {
			*at = watch->next;
			break;
		}
	free(watch);
}

void execution_report_over(struct execution *execution)
{
	struct execution_watch *watch;

	while ((watch = execution->watches)) {
		execution->watches = watch->next;
		watch->over(execution, watch->data);
		free(watch);
	}
}

/* A call that waits for an execution. */
struct waiting {
	struct execution *execution;
	struct call *call;
	struct execution_watch *watch;
	sd_event_source *timer;
	uint64_t patience_us, waited_us; /* patience_us 0: no limit */
	bool is_asked_about;
};

static void execution_report_free_waiting(struct waiting *waiting)
{
	(void)sd_event_source_disable_unref(waiting->timer);
	free(waiting);
}

static void execution_report_answer(struct execution *execution, struct call *call)
{
	static const enum call_outcome outcomes[] = {
		[EXECUTION_PENDING] = CALL_SUCCEEDED,   [EXECUTION_RUNNING] = CALL_SUCCEEDED,
		[EXECUTION_COMPLETED] = CALL_SUCCEEDED, [EXECUTION_FAILED] = CALL_PROGRAM_FAILED,
		[EXECUTION_TIMED_OUT] = CALL_TIMED_OUT, [EXECUTION_KILLED] = CALL_PROGRAM_FAILED,
	};

	if (execution->error.code)
		call_fail_with(call, &execution->error, execution_json(execution));
	else
		call_finish(call, execution_json(execution), outcomes[execution->status]);
}

static void agent_execution_report_over(struct execution *execution, void *data)
{
	struct waiting *waiting = data;

	execution_report_answer(execution, waiting->call);
	execution_report_free_waiting(waiting);
}

static void execution_report_cancel(void *work)
{
	struct waiting *waiting = work;

	execution_unwatch(waiting->watch);
	if (!waiting->is_asked_about)
		execution_kill(waiting->execution);
	execution_report_free_waiting(waiting);
}

static int on_second(sd_event_source *source, uint64_t at_us, void *data)
{
	struct waiting *waiting = data;
	const struct execution *execution = waiting->execution;
	uint64_t left;
	char text[120];

	(void)at_us;
	waiting->waited_us += PROGRESS_US;
	if (waiting->patience_us && waiting->waited_us >= waiting->patience_us) {
		execution_unwatch(waiting->watch);
		execution_report_answer(waiting->execution, waiting->call);
		execution_report_free_waiting(waiting);
		return 0;
	}
	(void)snprintf(text, sizeof text, "%llu s, %llu bytes written",
	               (unsigned long long)(waiting->waited_us / 1000000),
	               (unsigned long long)execution->both.total);
	call_progress(waiting->call, text);
	left = waiting->patience_us ? waiting->patience_us - waiting->waited_us : PROGRESS_US;
	if (sd_event_source_set_time_relative(source, left < PROGRESS_US ? left : PROGRESS_US) >= 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return 0;
}

void execution_answer(struct execution *execution, struct call *call, uint64_t patience_ms,
                      bool is_asked_about)
{
	struct waiting *waiting;
	struct yett_error error;
	uint64_t first =
		patience_ms && patience_ms * 1000 < PROGRESS_US ? patience_ms * 1000 : PROGRESS_US;

	if (execution_is_over(execution)) {
		execution_report_answer(execution, call);
		return;
	}
	waiting = calloc(1, sizeof *waiting);
	if (waiting) {
		*waiting = (struct waiting){.execution = execution,
		                            .call = call,
		                            .patience_us = patience_ms * 1000,
		                            .is_asked_about = is_asked_about};
		waiting->watch =
			execution_watch(execution, NULL, agent_execution_report_over, waiting);
	}
	if (!waiting || !waiting->watch ||
	    sd_event_add_time_relative(execution->agent->loop, &waiting->timer, CLOCK_MONOTONIC,
	                               first, 0, on_second, waiting) < 0) {
		if (waiting && waiting->watch)
			execution_unwatch(waiting->watch);
		free(waiting);
		(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a call");
		call_fail(call, &error);
		return;
	}
	call_set_work(call, waiting, execution_report_cancel);
}
