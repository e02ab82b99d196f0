/* SPDX-License-Identifier: Apache-2.0 */
/* The operations run_command and wait_command. */
#include <signal.h>
#include <string.h>

#include "agent/op.h"
#include "agent/sandbox_request.h"

#define WAIT_MS 30000

const struct field op_command_asked[] = {
	{"command", FIELD_TEXT, FIELD_NULLABLE, 1, 131071,
         "A command line, which sh runs. Either this or argv"},
	{"argv", FIELD_TEXTS, FIELD_NULLABLE, 1, 4096,
         "A program and its arguments, which no shell looks at"},
	{"cwd", FIELD_TEXT, FIELD_NULLABLE, 1, 4095,
         "The working directory: absolute, inside the sandbox"},
	OP_RUN_FIELDS,
	{"background", FIELD_BOOL, FIELD_NULLABLE,
         .description = "Answer at once; wait_command returns the output and the end",
         .fallback = "false"},
	{"keep_input", FIELD_BOOL, FIELD_NULLABLE,
         .description = "Keep standard input open after stdin: wait_command sends more",
         .fallback = "false"},
	{"metadata", FIELD_MAP, FIELD_NULLABLE, 0, 16,
         "KEY: value, 1 KiB in all; returned with the answer, and to clients that ask the sandbox about the command",
         .bytes = 1024},
	SANDBOX_REQUEST_FIELDS,
	{0},
};

const struct field op_wait_asked[] = {
	{"id", FIELD_TEXT, FIELD_REQUIRED, 1, 64, "The execution's id"},
	{"timeout", FIELD_DURATION, FIELD_NULLABLE, 0, 600000,
         "How long to wait for its end; 0: not at all", .fallback = "30"},
	{"input", FIELD_TEXT, FIELD_NULLABLE, 0, 1048576, "More text for its stdin"},
	{"close_input", FIELD_BOOL, FIELD_NULLABLE,
         .description = "Close the stdin after this input", .fallback = "false"},
	{"signal", FIELD_TEXT, FIELD_NULLABLE, 1, 16,
         "A signal to send, like INT; KILL also ends its child processes"},
	{0},
};

int op_timeout(const struct call *call, uint64_t *ret_ms, struct yett_error *error)
{
	const struct settings *settings = &call_agent(call)->settings;
	uint64_t ms = field_duration_ms(call_asked(call), "timeout", settings->default_timeout_ms);

	if (ms > settings->max_timeout_ms) {
		(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                "timeout: %g s is longer than %g s, which is the longest here",
		                (double)ms / 1000, (double)settings->max_timeout_ms / 1000);
		error_mend(error, "\"max_timeout\": %g in the settings, ~/.config/yett/agent.json",
		           (double)ms / 1000);
		return YETT_E_INVALID_REQUEST;
	}
	*ret_ms = ms;
	return 0;
}

size_t op_max_output(const struct call *call)
{
	return (size_t)field_number(call_asked(call), "max_output",
	                            (int64_t)call_agent(call)->settings.max_output);
}

void op_run(struct call *call, struct execution *execution)
{
	const json_t *asked = call_asked(call);
	struct yett_error error;

	if (execution_begin(execution, asked, &error) != 0)
		execution_end(execution, EXECUTION_FAILED, &error);
	if (field_bool(asked, "background") && !execution_is_over(execution))
		call_succeed(call, execution_json(execution));
	else
		execution_answer(execution, call, call_patience_ms(call), false);
}

/* The request, kept while the sandbox is being made. */
struct running {
	json_t *asked;
	uint64_t timeout_ms;
};

static void free_running(struct execution *execution)
{
	struct running *running = steal_ptr(&execution->runner);

	json_decref(running->asked);
	free(running);
}

static void op_command_start(struct execution *execution)
{
	const struct running *running = execution->runner;
	const json_t *asked = running->asked;
	const char *command = field_text(asked, "command"), *input = field_text(asked, "stdin");
	bool keeps_input = field_bool(asked, "keep_input");
	_cleanup_free_ char **argv = command ? NULL : field_strings(field_get(asked, "argv")),
			    **env = field_strings(field_get(asked, "env")),
			    **metadata = field_strings(field_get(asked, "metadata"));
	const char *const by_shell[] = {"sh", "-c", command, NULL};
	struct yett_command_options options = {
		.argv = command ? by_shell : (const char *const *)argv,
		.env = (const char *const *)env,
		.cwd = field_text(asked, "cwd"),
		.metadata = (const char *const *)metadata,
		.input = keeps_input ? NULL : input,
		.input_length = input && !keeps_input ? strlen(input) : 0,
		.timeout_ms = field_get(asked, "timeout")
	                              ? running->timeout_ms
	                              : execution_time(execution, running->timeout_ms)};
	struct yett_error error;
	int r;

	if (!options.argv || !env || !metadata)
		r = error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for a command");
	else
		r = execution_start(execution, EXECUTION_RUN, &options, keeps_input, &error);
	if (r == 0 && keeps_input && input)
		r = execution_input(execution, input, strlen(input), false, &error);
	if (r != 0)
		execution_end(execution, EXECUTION_FAILED, &error);
}

static int op_command_check(const struct call *call, uint64_t *ret_timeout_ms,
                            struct yett_error *error)
{
	const json_t *asked = call_asked(call);
	const char *cwd = field_text(asked, "cwd");

	if (!field_get(asked, "command") == !field_get(asked, "argv"))
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"expected either command, for a shell, or argv, a program with its arguments");
	if (cwd && cwd[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "cwd: expected an absolute path inside the sandbox");
	return op_timeout(call, ret_timeout_ms, error);
}

/* For lists: the command line, or the arguments joined by spaces. */
static char *op_command_describe(const json_t *asked)
{
	const json_t *argv = field_get(asked, "argv");
	char *text = NULL, *end;
	size_t size = 1, i;
	json_t *one;

	if (!argv)
		return strdup(field_text(asked, "command"));
	json_array_foreach(argv, i, one) size += json_string_length(one) + 1;
	text = end = malloc(size);
	if (text)
		*text = '\0';
	json_array_foreach(argv, i, one) if (text) end =
		stpcpy(i > 0 ? stpcpy(end, " ") : end, json_string_value(one));
	return text;
}

void op_run_command(struct call *call)
{
	const json_t *asked = call_asked(call);
	struct execution *execution = NULL;
	struct running *running = NULL;
	_cleanup_free_ char *text = NULL;
	struct yett_error error;
	uint64_t timeout_ms;
	int r = op_command_check(call, &timeout_ms, &error);

	if (r == 0) {
		text = op_command_describe(asked);
		running = malloc(sizeof *running);
		execution = text && running ? execution_new(call_agent(call), NULL, text,
		                                            op_max_output(call))
		                            : NULL;
	}
	if (!execution) {
		if (r == 0)
			(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                "no memory for a command");
		free(running);
		call_fail(call, &error);
		return;
	}
	*running = (struct running){json_incref((json_t *)asked), timeout_ms};
	execution->runner = running;
	execution->on_ready = op_command_start;
	execution->on_end = free_running;
	execution->metadata = json_incref((json_t *)field_get(asked, "metadata"));
	op_run(call, execution);
}

/* The number of "TERM" or "SIGTERM"; 0: unknown name. */
static int signal_number(const char *name)
{
	if (strncmp(name, "SIG", 3) == 0)
		name += 3;
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && strcmp(sigabbrev_np(i), name) == 0)
			return i;
	return 0;
}

static int op_command_act(struct execution *execution, const json_t *asked,
                          struct yett_error *error)
{
	const char *input = field_text(asked, "input"), *name = field_text(asked, "signal");
	bool is_last = field_bool(asked, "close_input");
	int r = 0, number = name ? signal_number(name) : 0;

	if (name && number == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "signal: expected a name like INT, TERM or KILL");
	if (input || is_last)
		r = execution_input(execution, input ? input : "", input ? strlen(input) : 0,
		                    is_last, error);
	return r == 0 && name ? execution_signal(execution, number, error) : r;
}

void op_wait_command(struct call *call)
{
	const json_t *asked = call_asked(call);
	const char *id = field_text(asked, "id");
	struct execution *execution = execution_find(call_agent(call), id);
	uint64_t wait_ms = field_duration_ms(asked, "timeout", WAIT_MS),
		 patience_ms = call_patience_ms(call);
	struct yett_error error;

	if (!execution) {
		(void)error_set(&error, YETT_E_NOT_FOUND, YETT_R_NONE,
		                "no execution %.40s: wrong id, or its record was dropped", id);
		call_fail(call, &error);
		return;
	}
	if (op_command_act(execution, asked, &error) != 0) {
		call_fail(call, &error);
		return;
	}
	if (wait_ms == 0 && !execution_is_over(execution))
		call_succeed(call, execution_json(execution));
	else
		execution_answer(execution, call,
		                 patience_ms && patience_ms < wait_ms ? patience_ms : wait_ms,
		                 true);
}
