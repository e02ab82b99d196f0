/* SPDX-License-Identifier: Apache-2.0 */
/* See run_report.h, and run_parts.h for run_report(). */
#include "cli/run/run_report.h"

#include <signal.h>
#include <string.h>

#include "cli/changes/work.h"
#include "cli/connect.h"
#include "cli/output.h"
#include "cli/run/run_parts.h"

int run_exit_code_of_error(const struct yett_error *error)
{
	if (error->code != YETT_E_COMMAND_FAILED || *error->step || !error->os_error)
		return RUN_FAILED;
	return error->os_error == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

static void run_report_add_limit(char *line, size_t size, const char *name, const char *value)
{
	size_t used = strlen(line);

	(void)snprintf(line + used, size - used, "%s%s limit reached%s%s%s", used ? "; " : "", name,
	               *value ? " (" : "", value, *value ? ")" : "");
}

static void add_time(char *line, size_t size, const char *name, uint64_t ms)
{
	char value[64] = "";

	if (ms)
		output_duration(value, sizeof value, ms);
	run_report_add_limit(line, size, name, value);
}

void run_report_limits(const struct yett_result *result, const struct run_limits *limits)
{
	bool is_cpu_time = result->limits_hit & YETT_LIMIT_CPU_TIME;
	char line[256] = "", value[64] = "";

	if (result->out_of_memory) {
		if (limits->memory_bytes)
			output_size(value, sizeof value, limits->memory_bytes);
		run_report_add_limit(line, sizeof line, "memory", value);
	}
	if (result->limits_hit & YETT_LIMIT_PIDS)
		run_report_add_limit(line, sizeof line, "process", "");
	if (is_cpu_time)
		add_time(line, sizeof line,
		         limits->is_sandboxs ? "the sandbox's processor time" : "processor time",
		         limits->cpu_ms);
	else if (result->timed_out)
		add_time(line, sizeof line, limits->is_sandboxs ? "the sandbox's time" : "time",
		         limits->time_ms);
	if (line[0])
		output_note("%s", line);
}

bool run_result_of_end(enum yett_ended ended, struct yett_result *ret_result)
{
	if (ended != YETT_ENDED_WALL_TIME && ended != YETT_ENDED_CPU_TIME)
		return false;
	*ret_result = (struct yett_result){
		.signaled = true,
		.status = SIGKILL,
		.signal_name = "KILL",
		.timed_out = true,
		.limits_hit = ended == YETT_ENDED_CPU_TIME ? YETT_LIMIT_CPU_TIME : 0};
	return true;
}

int run_exit_code_of_result(const struct yett_result *result)
{
	if (result->timed_out)
		return RUN_TIMED_OUT;
	return result->signaled ? RUN_SIGNALED + result->status : result->status;
}

static struct run_limits limits_of(const struct run *run)
{
	const struct run_options *o = &run->options;

	if (run->is_ended_by_time)
		return (struct run_limits){
			.time_ms = o->life.wall_ms, .cpu_ms = o->life.cpu_ms, .is_sandboxs = true};
	return (struct run_limits){.memory_bytes = o->own.memory_bytes ? o->own.memory_bytes
	                                                               : run->info.memory_bytes,
	                           .time_ms = o->timeout_ms};
}

static int run_report_exit_code(const struct run *run)
{
	int code = run->has_result ? run_exit_code_of_result(&run->result) : 0;

	/*
	 * The first failure counts. If output was lost, a command that died of SIGPIPE did so
	 * because we could not write its output, so our error came first.
	 */
	if (run->is_output_lost && run->has_result && code != 0 && code != RUN_SIGNALED + SIGPIPE)
		return code;
	/* Both can exist: the command ended, and a copy failed afterwards. */
	return run->error.code ? run_exit_code_of_error(&run->error) : code;
}

/* Adds the sandbox and the command to the document; null for one that does not exist. */
static void report_json(struct json *json, const struct run *run)
{
	_cleanup_(connect_workspace_freep) struct yett_work_list *works = NULL;

	if (run->info.id[0])
		output_json_sandbox(json, "sandbox", &run->info);
	else
		json_null(json, "sandbox");
	(void)!yett_works_list(&works, NULL);
	work_report_stores(json, works, run->info.id);
	if (run->is_reported)
		return; /* the document already has the command */
	if (!run->command_id && !run->has_result) {
		json_null(json, "command");
		return;
	}
	json_open(json, "command", '{');
	json_number_or_null(json, "id", run->command_id);
	json_open(json, "argv", '[');
	for (const char *const *argument = run->argv; argument && *argument; argument++)
		json_text(json, NULL, *argument);
	json_close(json);
	if (run->has_result)
		output_json_result(json, "result", &run->result);
	else
		json_null(json, "result");
	json_close(json);
}

int run_report(struct run *run)
{
	struct run_limits limits;
	int code = run_report_exit_code(run);

	if (run->error.code)
		output_error(&run->error);
	if (run->has_result) {
		limits = limits_of(run);
		run_report_limits(&run->result, &limits);
	}
	if (output_json() && !run->options.dry_run)
		report_json(output_json(), run);
	return code;
}
