/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See runner.h. The steps of an execution:
 *
 *   write    commands for files that do not fit into the command of the next step
 *   compile  for compiled languages; writes the remaining files first
 *   run      for others, writes the remaining files first; in kept mode, passes code to a driver
 *   probe    if the exit status says that a program is missing: checks for the language
 */
#include "agent/runner/runner.h"

#include <stdio.h>
#include <string.h>

#include "agent/runner/driver.h"
#include "agent/runner/runner_ask.h"

#define COMPILE_MS 60000
#define PROBE_MS   20000
#define VALUE_MAX  400000 /* bytes: 100,000 characters */
#define DIRECTORY  "/tmp"

struct run {
	struct runner_ask ask;
	char directory[48];
	char ***commands; /* write the files; the last command then executes the first program */
	size_t commands_done;
	struct yett_command *aside;       /* the running write or probe command; NULL: none */
	enum execution_phase_name probed; /* the phase that caused the probe */
	struct driver_piece *piece;
};

/*
 * The statuses of shells, and of our TypeScript compiler, for a program that is missing or cannot
 * be executed.
 */
static bool has_no_program(const struct execution_phase *phase)
{
	const struct yett_result *result = &phase->result;

	return !phase->error.code && !result->signaled &&
	       (result->status == 127 || result->status == 126);
}

static const struct bundle *bundle_of(const struct run *run)
{
	return &run->ask.bundle;
}

static void free_run(struct execution *execution)
{
	struct run *run = steal_ptr(&execution->runner);

	driver_piece_free(run->piece);
	yett_command_free(run->aside);
	bundle_free_lists(run->commands);
	runner_ask_clear(&run->ask);
	free(run);
}

static void runner_fail(struct execution *execution, const struct yett_error *error)
{
	execution_end(execution, EXECUTION_FAILED, error);
}

static void fail_for_memory(struct execution *execution)
{
	struct yett_error error;

	(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for code");
	runner_fail(execution, &error);
}

/*
 * Joins the language's variables and the request's. Borrows the strings of `asked` and of the
 * table. NULL: no memory.
 */
static const char **make_env(const struct run *run, char **asked)
{
	const char *const *own = bundle_of(run)->language->env;
	const char **env;
	size_t count = 0;

	for (const char *const *at = own; at && *at; at++)
		count++;
	for (char **at = asked; at && *at; at++)
		count++;
	env = calloc(count + 1, sizeof *env);
	count = 0;
	for (const char *const *at = own; env && at && *at; at++)
		env[count++] = *at;
	for (char **at = asked; env && at && *at; at++)
		env[count++] = *at;
	return env;
}

/* --- probing for a language ------------------------------------------------------------------- */

/*
 * Fills in the command that prints the version: the table's, or --version of the interpreter that
 * the settings name.
 */
static void probe_argv(const struct run *run, const char *argv[8])
{
	const char *const *probe = bundle_of(run)->language->probe;
	size_t count = 0;

	if (bundle_of(run)->interpreter) {
		argv[count++] = bundle_of(run)->interpreter;
		argv[count++] = "--version";
	} else {
		for (; *probe && count < 7; probe++)
			argv[count++] = *probe;
	}
	argv[count] = NULL;
}

static void fail_for_language(struct execution *execution)
{
	const struct run *run = execution->runner;
	const struct language *language = bundle_of(run)->language;
	struct yett_error error;

	if (bundle_of(run)->interpreter) {
		(void)error_set(&error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                "%s: %.200s, which the settings name, is not in the sandbox",
		                language->name, bundle_of(run)->interpreter);
		error_mend(&error, "\"interpreters\" in the settings, ~/.config/yett/agent.json");
	} else {
		(void)error_set(&error, YETT_E_UNSUPPORTED, YETT_R_NONE,
		                "%s is not installed: the sandbox has no executable %s",
		                language->name, language->probe[0]);
		error_mend(&error, "apt install %s", language->package);
	}
	(void)snprintf(execution->why, sizeof execution->why, "%s is not installed: apt install %s",
	               language->name, language->package);
	runner_fail(execution, &error);
}

static void on_probed(struct yett_command *command, void *data)
{
	struct execution *execution = data;
	struct run *run = execution->runner;
	const struct yett_result *result;
	bool is_there = yett_command_wait(command, 0, &result, NULL) == 0 && !result->signaled &&
	                result->status == 0;

	yett_command_free(steal_ptr(&run->aside));
	if (is_there)
		execution_end(execution, execution_judge(execution, run->probed), NULL);
	else
		fail_for_language(execution);
}

static void probe(struct execution *execution, enum execution_phase_name phase)
{
	struct run *run = execution->runner;
	const char *argv[8];
	struct yett_command_options options = {.size = sizeof options,
	                                       .argv = argv,
	                                       .env = bundle_of(run)->language->env,
	                                       .cwd = DIRECTORY,
	                                       .timeout_ms = execution_time(execution, PROBE_MS),
	                                       .on_exit = on_probed,
	                                       .data = execution};

	probe_argv(run, argv);
	run->probed = phase;
	if (execution_bound(execution, PROBE_MS) < 0 ||
	    yett_sandbox_exec(execution->handle->sandbox, &options, &run->aside, NULL) != 0)
		execution_end(execution, execution_judge(execution, phase), NULL);
}

/* Returns the first line that is not blank. NULL: none, or no memory. */
static json_t *first_line(const struct output_buffer *kept)
{
	const char *at = kept->head, *end = at + kept->head_length, *line;

	while (at < end && (*at == '\n' || *at == ' '))
		at++;
	line = at;
	while (at < end && *at != '\n' && at - line < 200)
		at++;
	return at > line ? field_make_text(line, (size_t)(at - line)) : NULL;
}

static void ensure(struct execution *execution)
{
	const char *argv[8];
	struct yett_command_options options = {.argv = argv,
	                                       .env = bundle_of(execution->runner)->language->env,
	                                       .cwd = DIRECTORY,
	                                       .timeout_ms = execution_time(execution, PROBE_MS)};
	struct yett_error error;

	probe_argv(execution->runner, argv);
	if (execution_start(execution, EXECUTION_RUN, &options, false, &error) != 0)
		runner_fail(execution, &error);
}

static void end_ensure(struct execution *execution)
{
	const struct execution_phase *phase = &execution->phases[EXECUTION_RUN];
	json_t *version;

	if (phase->error.code == YETT_E_COMMAND_FAILED ||
	    (!phase->error.code && phase->result.status != 0)) {
		fail_for_language(execution);
		return;
	}
	version = first_line(&phase->out);
	if (!version)
		version = first_line(&phase->err);
	if (version)
		execution->extra = json_pack("{s:o}", "version", version);
	execution_end(execution, execution_judge(execution, EXECUTION_RUN),
	              phase->error.code ? &phase->error : NULL);
}

/* --- phases ----------------------------------------------------------------------------------- */

/*
 * A timeout that the request names is used as it is, and the sandbox refuses it if too long. The
 * default of the settings is reduced to the sandbox's maximum.
 */
static uint64_t run_ms(const struct execution *execution)
{
	const struct run *run = execution->runner;

	return field_get(run->ask.asked, "timeout")
	               ? run->ask.timeout_ms
	               : execution_time(execution, run->ask.timeout_ms);
}

static void start_phase(struct execution *execution, enum execution_phase_name phase,
                        const char *const *argv, const char *cwd)
{
	struct run *run = execution->runner;
	const char *input = phase == EXECUTION_RUN ? field_text(run->ask.asked, "stdin") : NULL;
	_cleanup_free_ char **asked =
		phase == EXECUTION_RUN ? field_strings(field_get(run->ask.asked, "env")) : NULL;
	_cleanup_free_ const char **env = make_env(run, asked);
	uint64_t most = phase == EXECUTION_COMPILE ? execution_time(execution, COMPILE_MS)
	                                           : run_ms(execution);
	struct yett_command_options options = {.argv = argv,
	                                       .env = env,
	                                       .cwd = cwd,
	                                       .input = input,
	                                       .input_length = input ? strlen(input) : 0,
	                                       .timeout_ms = most};
	struct yett_error error;

	if (!env)
		fail_for_memory(execution);
	else if (execution_start(execution, phase, &options, false, &error) != 0)
		runner_fail(execution, &error);
}

static void run_compiled(struct execution *execution)
{
	const struct bundle *bundle = bundle_of(execution->runner);
	char **argv = bundle_run(bundle);

	if (argv)
		start_phase(execution, EXECUTION_RUN, (const char *const *)argv,
		            bundle->cwd ? bundle->cwd : bundle->directory);
	else
		fail_for_memory(execution);
	bundle_free_list(argv);
}

static void on_phase(struct execution *execution, enum execution_phase_name phase)
{
	const struct execution_phase *at = &execution->phases[phase];
	const struct run *run = execution->runner;
	bool is_done = !at->error.code && !at->result.signaled;
	/* A compiled program needs no interpreter that could be missing. */
	bool may_be_missing = phase == EXECUTION_COMPILE || !bundle_of(run)->language->compile;

	if (run->ask.mode == RUNNER_ENSURE)
		end_ensure(execution);
	else if (phase == EXECUTION_COMPILE && is_done && at->result.status == 0)
		run_compiled(execution);
	else if (may_be_missing && has_no_program(at))
		probe(execution, phase);
	else
		execution_end(execution, execution_judge(execution, phase),
		              at->error.code ? &at->error : NULL);
}

/* --- kept state ------------------------------------------------------------------------------- */

/*
 * Sets `why` to the line of a traceback with the error: the last one in Python, the first one in
 * JavaScript.
 */
static void runner_explain(struct execution *execution, const char *error)
{
	bool is_last = strcmp(execution->language, "python") == 0;
	const char *end = error + strlen(error), *line = error;

	while (end > error && end[-1] == '\n')
		end--;
	if (is_last) {
		for (line = end; line > error && line[-1] != '\n'; line--)
			;
	} else {
		end = error + strcspn(error, "\n");
	}
	(void)snprintf(execution->why, sizeof execution->why, "%.*s",
	               end - line < 150 ? (int)(end - line) : 150, line);
}

/* Limits the value. Drivers limit it, too, but the code may have forged the report. */
static json_t *cut_value(json_t *value)
{
	size_t length = json_string_length(value);

	return length <= VALUE_MAX ? json_incref(value)
	                           : field_make_text(json_string_value(value), VALUE_MAX);
}

static void end_piece(struct execution *execution, json_t *outcome)
{
	const char *error = json_string_value(json_object_get(outcome, "error"));
	json_t *value = json_object_get(outcome, "value");
	enum execution_status status = execution_judge(execution, EXECUTION_RUN);

	if (json_is_string(value))
		execution->extra = json_pack("{s:o}", "value", cut_value(value));
	if (error)
		runner_explain(execution, error);
	execution_end(execution, status, NULL);
}

/* Ends an execution whose driver has ended; the driver's state is lost. */
static void lose_piece(struct execution *execution, bool is_new)
{
	struct execution_phase *phase = &execution->phases[EXECUTION_RUN];
	struct run *run = execution->runner;
	enum execution_status status;
	size_t length;

	if (is_new && has_no_program(phase)) {
		probe(execution, EXECUTION_RUN);
		return;
	}
	phase->result.timed_out = driver_timed_out(run->piece);
	status = execution_judge(execution, EXECUTION_RUN);
	length = strlen(execution->why);
	(void)snprintf(execution->why + length, sizeof execution->why - length,
	               "%s; the kept state is lost",
	               length > 0 ? "" : "the code ended its interpreter");
	execution_end(execution, status, phase->error.code ? &phase->error : NULL);
}

static void on_piece_over(struct execution *execution, json_t *outcome, bool is_new)
{
	if (outcome)
		end_piece(execution, outcome);
	else
		lose_piece(execution, is_new);
}

static void kill_piece(struct execution *execution)
{
	struct run *run = execution->runner;

	if (run->piece)
		driver_kill(run->piece);
	else
		execution_end(execution, EXECUTION_KILLED, NULL);
}

static int signal_piece(struct execution *execution, int number, struct yett_error *error)
{
	struct run *run = execution->runner;

	if (!run->piece)
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
		                 "execution %s runs nothing yet", execution->id);
	return driver_signal(run->piece, number, error);
}

static json_t *array_or_new(const json_t *list)
{
	return list ? json_incref((json_t *)list) : json_array();
}

static void run_piece(struct execution *execution)
{
	struct run *run = execution->runner;
	const struct bundle *bundle = bundle_of(run);
	const char *input = field_text(run->ask.asked, "stdin");
	const json_t *env = field_get(run->ask.asked, "env");
	char name[32];
	struct driver_request request = {.language = bundle->language,
	                                 .interpreter = bundle->interpreter,
	                                 .timeout_ms = run_ms(execution),
	                                 .over = on_piece_over};
	struct yett_error error;

	/* The driver enforces the timeout, which begins when the piece begins. */
	if (execution->overdue)
		(void)sd_event_source_set_enabled(execution->overdue, SD_EVENT_OFF);
	/* A separate name for each piece in tracebacks, as in notebooks. */
	(void)snprintf(name, sizeof name, "<call %llu>", (unsigned long long)execution->number + 1);
	request.request =
		json_pack("{s:s, s:s, s:s, s:o, s:o, s:s?}", "name", name, "code", bundle->code,
	                  "stdin", input ? input : "", "args", array_or_new(bundle->args), "env",
	                  env ? json_incref((json_t *)env) : json_object(), "cwd", bundle->cwd);
	if (!request.request)
		fail_for_memory(execution);
	else if (driver_run(execution, &request, &run->piece, &error) != 0)
		runner_fail(execution, &error);
}

/* --- files ------------------------------------------------------------------------------------ */

static void runner_write_next(struct execution *execution);

static void runner_on_written(struct yett_command *command, void *data)
{
	struct execution *execution = data;
	struct run *run = execution->runner;
	const struct yett_result *result;
	struct yett_error error;
	int r = yett_command_wait(command, 0, &result, &error);
	bool is_done = r == 0 && !result->signaled && result->status == 0;

	if (r == 0 && !is_done)
		(void)error_set(&error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                "the files could not be written in the sandbox");
	yett_command_free(steal_ptr(&run->aside));
	if (is_done)
		runner_write_next(execution);
	else
		runner_fail(execution, &error);
}

/* Adds the messages of the writing shell to the answer. */
static void on_writers_words(struct yett_command *command, enum yett_stream stream,
                             const char *bytes, size_t length, void *data)
{
	(void)command;
	execution_add(data, EXECUTION_RUN, stream, bytes, length);
}

static void write_aside(struct execution *execution, char **argv)
{
	static const int stdio[] = {YETT_STDIO_NULL, YETT_STDIO_STREAM, YETT_STDIO_STREAM};
	struct run *run = execution->runner;
	struct yett_command_options options = {.size = sizeof options,
	                                       .argv = (const char *const *)argv,
	                                       .cwd = DIRECTORY,
	                                       .stdio = stdio,
	                                       .timeout_ms = execution_time(execution, COMPILE_MS),
	                                       .on_exit = runner_on_written,
	                                       .on_output = on_writers_words,
	                                       .data = execution};
	struct yett_error error;

	if (execution_bound(execution, COMPILE_MS) < 0)
		fail_for_memory(execution);
	else if (yett_sandbox_exec(execution->handle->sandbox, &options, &run->aside, &error) != 0)
		runner_fail(execution, &error);
}

static void runner_write_next(struct execution *execution)
{
	struct run *run = execution->runner;
	bool is_kept = run->ask.mode == RUNNER_KEPT;
	char **argv = run->commands ? run->commands[run->commands_done] : NULL;

	if (!argv) {
		run_piece(execution);
		return;
	}
	run->commands_done++;
	if (is_kept || run->commands[run->commands_done])
		write_aside(execution, argv);
	else
		start_phase(execution,
		            bundle_of(run)->language->compile ? EXECUTION_COMPILE : EXECUTION_RUN,
		            (const char *const *)argv, DIRECTORY);
}

/*
 * Chooses the directory that the code runs in. A sandbox that ends with the execution uses /tmp
 * itself, which is still empty. In a sandbox that stays, each call gets a new directory, so that
 * calls do not collide; but calls whose interpreter keeps its state all use /tmp, so that they find
 * each other's files.
 */
static int runner_prepare(struct execution *execution)
{
	struct run *run = execution->runner;
	struct bundle bundle = run->ask.bundle;
	bool is_kept = run->ask.mode == RUNNER_KEPT, is_own = execution->has_own || is_kept;
	char **program = NULL;

	(void)snprintf(run->directory, sizeof run->directory,
	               is_own ? DIRECTORY : DIRECTORY "/run-%s", execution->id);
	run->ask.bundle.directory = bundle.directory = run->directory;
	bundle.makes_directory = !is_own;
	if (is_kept && json_object_size(bundle.files) == 0)
		return 0;
	if (is_kept) {
		/* In kept mode, the code is not written to a file. */
		bundle.code = NULL;
		if (bundle.cwd)
			bundle.directory = bundle.cwd;
	} else if (bundle.language->compile) {
		bundle.cwd = NULL;
		program = bundle_compile(&bundle);
	} else {
		program = bundle_run(&bundle);
	}
	run->commands = is_kept || program ? bundle_commands(&bundle, program) : NULL;
	bundle_free_list(program);
	if (run->commands && !execution->has_own && !is_kept)
		execution->extra = json_pack("{s:s}", "directory", run->directory);
	return run->commands ? 0 : -ENOMEM;
}

static void runner_on_ready(struct execution *execution)
{
	struct run *run = execution->runner;

	if (run->ask.mode == RUNNER_ENSURE)
		ensure(execution);
	else if (runner_prepare(execution) < 0)
		fail_for_memory(execution);
	else
		runner_write_next(execution);
}

/* --- the operation ---------------------------------------------------------------------------- */

/* For lists: the first line of the code that is not blank. */
static char *runner_describe(const struct runner_ask *ask)
{
	const char *code = ask->bundle.code;

	if (!code || ask->mode == RUNNER_ENSURE)
		return strdup("which version?");
	code += strspn(code, " \t\r\n");
	return strndup(code, strcspn(code, "\r\n"));
}

static struct execution *make_execution(struct call *call, struct run *run)
{
	_cleanup_free_ char *text = runner_describe(&run->ask);
	struct execution *execution =
		text ? execution_new(call_agent(call), bundle_of(run)->language->name, text,
	                             op_max_output(call))
		     : NULL;

	if (!execution)
		return NULL;
	execution->runner = run;
	execution->on_ready = runner_on_ready;
	execution->on_phase = on_phase;
	execution->on_end = free_run;
	if (run->ask.mode == RUNNER_KEPT) {
		execution->on_kill = kill_piece;
		execution->on_signal = signal_piece;
		execution->keeps_handle = true;
	}
	execution->warnings = json_incref(run->ask.warnings);
	execution->metadata = json_incref((json_t *)field_get(run->ask.asked, "metadata"));
	return execution;
}

void runner_begin(struct call *call)
{
	struct run *run = calloc(1, sizeof *run);
	struct execution *execution = NULL;
	struct yett_error error;
	int r = run ? runner_ask_read(call, &run->ask, &error) : -ENOMEM;

	if (r == 0)
		execution = make_execution(call, run);
	if (!execution) {
		if (r <= 0)
			(void)error_set(&error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                "no memory for code");
		if (run)
			runner_ask_clear(&run->ask);
		free(run);
		call_fail(call, &error);
		return;
	}
	op_run(call, execution);
}
