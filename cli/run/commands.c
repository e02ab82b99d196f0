/* SPDX-License-Identifier: Apache-2.0 */
/* See commands.h. */
#include "cli/run/commands.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/units_parse.h"
#include "cli/output.h"
#include "cli/run/run_report.h"
#include "cli/sandboxes/again.h"
#include "cli/sandboxes/manage.h"
#include "cli/sandboxes/stats.h"

#define ENV_UNSET_MAX 1024

/* The options of wait, logs, input, kill and env; each table sets only some of them. */
struct commands_run_options {
	struct manage_run_options common; /* first, for manage_begin() */
	bool output, follow, more;
	int signal; /* 0: SIGKILL, to every process that was started */
	const char *directory;
	const char *unset[ENV_UNSET_MAX + 1];
	size_t unset_count;
};

OPTION_TEXT(set_socket, struct commands_run_options, common.connect.socket_path)
OPTION_TEXT(set_key, struct commands_run_options, common.connect.key_path)
OPTION_FLAG(set_output, struct commands_run_options, output)

const struct option wait_options[] = {
	{'o', "output", NULL, "print the outputs that were kept of the command", set_output},
	CONNECT_OPTIONS,
	{0},
};

OPTION_FLAG(set_follow, struct commands_run_options, follow)

const struct option logs_options[] = {
	{'f', "follow", NULL, "keep printing output until the command ends", set_follow},
	CONNECT_OPTIONS,
	{0},
};

OPTION_FLAG(set_more, struct commands_run_options, more)

const struct option input_options[] = {
	{0, "more", NULL, "leave standard input open for more", set_more},
	CONNECT_OPTIONS,
	{0},
};

/* Takes the number of a signal, or its name with or without SIG. */
static int set_signal(void *into, const char *value, struct yett_error *error)
{
	const char *name = strncmp(value, "SIG", 3) == 0 ? value + 3 : value;
	int *signal = &((struct commands_run_options *)into)->signal;
	uint64_t number;

	if (units_parse_number(value, &number) == 0 && number >= 1 && number <= 64) {
		*signal = (int)number;
		return 0;
	}
	for (int i = 1; i < NSIG; i++)
		if (sigabbrev_np(i) && strcmp(sigabbrev_np(i), name) == 0) {
			*signal = i;
			return 0;
		}
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 "--signal %s: expected a signal, like TERM or 15", value);
}

const struct option kill_options[] = {
	{'s', "signal", "SIGNAL", "send this signal, such as TERM or 15, to each process group",
         set_signal},
	CONNECT_OPTIONS,
	{0},
};

static int cli_commands_set_directory(void *into, const char *value, struct yett_error *error)
{
	if (value[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--directory %s: expected an absolute path inside", value);
	((struct commands_run_options *)into)->directory = value;
	return 0;
}

static int set_unset(void *into, const char *value, struct yett_error *error)
{
	struct commands_run_options *options = into;

	if (options->unset_count == ENV_UNSET_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "--unset: more than %d of them", ENV_UNSET_MAX);
	options->unset[options->unset_count++] = value;
	return 0;
}

const struct option env_options[] = {
	{'C', "directory", "DIR", "set the directory that commands start in",
         cli_commands_set_directory},
	{'u', "unset", "NAME", "unset a variable", set_unset},
	CONNECT_OPTIONS,
	{0},
};

static int parse_id(const char *text, uint64_t *ret_id, struct yett_error *error)
{
	if (units_parse_number(text, ret_id) < 0 || *ret_id == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "%s is no id of a command: yett ps SANDBOX tells them", text);
	return 0;
}

static void json_argv(struct json *json, const struct yett_command_status *s)
{
	json_open(json, "argv", '[');
	for (const char *const *at = s->argv; *at; at++)
		json_text(json, NULL, *at);
	json_close(json);
	json_bool(json, "argv_cut", s->argv_cut);
}

/* `outputs` NULL: write the lengths of the outputs, but no content. */
static void json_command(struct json *json, const char *name, const struct yett_command_status *s,
                         struct yett_captured *const *outputs)
{
	static const struct yett_error none = {.code = YETT_OK};
	static const char *const names[] = {"stdout", "stderr"};
	bool is_over = s->state != YETT_COMMAND_PENDING && s->state != YETT_COMMAND_RUNNING &&
	               s->state != YETT_COMMAND_FAILED;

	json_open(json, name, '{');
	json_number(json, "id", s->id);
	json_text(json, "state", yett_command_state_name(s->state));
	json_argv(json, s);
	json_number(json, "pid", s->pid);
	json_number(json, "started_ms", s->started_ms);
	if (is_over)
		output_json_result(json, "result", s->result);
	else
		json_null(json, "result");
	for (size_t i = 0; i < ARRAY_SIZE(s->outputs); i++) {
		if (!s->outputs[i]->captured) {
			json_null(json, names[i]);
			continue;
		}
		json_open(json, names[i], '{');
		json_number(json, "length", s->outputs[i]->length);
		json_bool(json, "truncated", s->outputs[i]->truncated);
		if (outputs)
			json_bytes(json, "content", outputs[i]->bytes, outputs[i]->length);
		json_close(json);
	}
	output_json_error(json, "error", s->error ? s->error : &none);
	output_json_pairs(json, "metadata", s->metadata);
	json_close(json);
}

static void cli_commands_print_row(const struct yett_command_status *s)
{
	char status[32] = "-", wall[STATS_TEXT_SIZE];

	if (s->result->signaled)
		(void)snprintf(status, sizeof status, "signal %d", s->result->status);
	else if (s->state == YETT_COMMAND_COMPLETED || s->state == YETT_COMMAND_TIMEOUT ||
	         s->state == YETT_COMMAND_KILLED)
		(void)snprintf(status, sizeof status, "%d", s->result->status);
	stats_time(wall, true, s->result->wall_us / 1000);
	(void)printf("%6llu  %-9s  %9s  %9s  ", (unsigned long long)s->id,
	             yett_command_state_name(s->state), status, wall);
	output_text(stdout, s->text, false);
	(void)putchar('\n');
}

int commands_print(struct yett_connection *connection, const char *id_or_name, bool quiet,
                   struct yett_error *error)
{
	struct yett_command_list *list = NULL;
	struct yett_sandbox *sandbox = NULL;
	struct json *json = output_json();
	int r = yett_sandbox_attach(connection, id_or_name, &sandbox, error);

	if (r == 0)
		r = yett_commands_list(sandbox, &list, error);
	yett_sandbox_close(sandbox);
	if (r)
		return r;
	if (json)
		json_open(json, "commands", '[');
	else if (!quiet)
		(void)printf("%6s  %-9s  %9s  %9s  %s\n", "ID", "STATE", "STATUS", "TIME",
		             "COMMAND");
	for (size_t i = 0; i < yett_command_list_count(list); i++) {
		const struct yett_command_status *status = yett_command_list_get(list, i);

		if (json)
			json_command(json, NULL, status, NULL);
		else if (quiet)
			(void)printf("%llu\n", (unsigned long long)status->id);
		else
			cli_commands_print_row(status);
	}
	if (json)
		json_close(json);
	yett_free(list);
	return 0;
}

static int kill_by_id(struct yett_sandbox *sandbox, uint64_t id, int signal,
                      struct yett_error *error)
{
	return signal == 0 || signal == SIGKILL
	               ? yett_command_kill(sandbox, id, error)
	               : yett_command_signal_by_id(sandbox, id, signal, error);
}

/* Sends a signal to every running command. A command that ends meanwhile is no error. */
static int kill_each(struct yett_sandbox *sandbox, int signal, struct yett_error *error)
{
	struct yett_command_list *list = NULL;
	int r = yett_commands_list(sandbox, &list, error);

	for (size_t i = 0; r == 0 && i < yett_command_list_count(list); i++) {
		const struct yett_command_status *status = yett_command_list_get(list, i);

		if (status->state != YETT_COMMAND_PENDING && status->state != YETT_COMMAND_RUNNING)
			continue;
		r = kill_by_id(sandbox, status->id, signal, error);
		if (r == YETT_E_NOT_RUNNING || r == YETT_E_NOT_FOUND)
			r = yett_sandbox_ended(sandbox) == YETT_ENDED_NOT ? 0 : r;
	}
	yett_free(list);
	return r;
}

static int kill_one(struct yett_sandbox *sandbox, const char *text, int signal,
                    struct yett_error *error)
{
	uint64_t id;
	int r = parse_id(text, &id, error);

	return r ? r : kill_by_id(sandbox, id, signal, error);
}

int kill_main(const struct subcommand *self, int argc, char **argv)
{
	struct commands_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	int first, failed = 0,
		   r = manage_begin(self, argc, argv, &options.common, &first, &connection);
	bool is_all, is_kill;

	if (r >= 0)
		return r;
	is_all = first + 1 == argc;
	is_kill = options.signal == 0 || options.signal == SIGKILL;
	r = is_all && is_kill ? yett_sandbox_kill(connection, argv[first], &error)
	                      : yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	if (r == 0 && is_all && !is_kill)
		r = kill_each(sandbox, options.signal, &error);
	if (output_json())
		json_open(output_json(), "commands", '[');
	for (int at = first + 1; r == 0 && at < argc; at++)
		failed |= manage_report(
			argv[at], kill_one(sandbox, argv[at], options.signal, &error), &error);
	if (output_json())
		json_close(output_json());
	if (r)
		output_error(&error);
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return r || failed ? EXIT_FAILED : 0;
}

static void note_cut(enum yett_stream stream)
{
	output_note("%s is cut: more was written than kept",
	            stream == YETT_STREAM_OUT ? "the output" : "the error output");
}

static int write_output(struct yett_sandbox *sandbox, uint64_t id, enum yett_stream stream,
                        FILE *to, struct yett_error *error)
{
	struct yett_captured *kept;
	int r = yett_command_output(sandbox, id, stream, &kept, error);

	if (r)
		return r;
	/* output_end() reports an output that could not be written. */
	(void)fwrite(kept->bytes, 1, kept->length, to);
	(void)fflush(to);
	if (kept->truncated)
		note_cut(stream);
	yett_free(kept);
	return r;
}

int commands_json(struct yett_sandbox *sandbox, uint64_t id, bool with_outputs,
                  struct yett_error *error)
{
	struct yett_captured *kept[2] = {NULL, NULL};
	struct yett_command_status *status = NULL;
	int r = yett_command_inspect(sandbox, id, &status, error);

	for (int i = 0; i < 2 && r == 0 && with_outputs; i++)
		if (status->outputs[i]->captured)
			r = yett_command_output(sandbox, id, i ? YETT_STREAM_ERR : YETT_STREAM_OUT,
			                        &kept[i], error);
	if (r == 0)
		json_command(output_json(), "command", status, with_outputs ? kept : NULL);
	yett_free(kept[0]);
	yett_free(kept[1]);
	yett_free(status);
	return r;
}

static int write_outputs(struct yett_sandbox *sandbox, uint64_t id, struct yett_error *error)
{
	struct yett_command_status *status = NULL;
	int r = yett_command_inspect(sandbox, id, &status, error);

	if (r == 0 && !status->outputs[0]->captured && !status->outputs[1]->captured)
		r = error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"no output of command %llu is kept: only commands started with --background keep output",
			(unsigned long long)id);
	if (r == 0 && status->outputs[0]->captured)
		r = write_output(sandbox, id, YETT_STREAM_OUT, stdout, error);
	if (r == 0 && status->outputs[1]->captured)
		r = write_output(sandbox, id, YETT_STREAM_ERR, stderr, error);
	yett_free(status);
	return r;
}

/*
 * Waits for the command, reports the limit that ended it, if any, and prints its result. Returns 0
 * or an error code; *ret_code becomes the exit code for the command's result.
 */
static int cli_commands_wait_for(struct yett_sandbox *sandbox, uint64_t id, bool with_output,
                                 int *ret_code, struct yett_error *error)
{
	struct yett_command *command = NULL;
	const struct yett_result *ended_with;
	struct yett_result result = {0};
	int r = yett_command_attach(sandbox, id, NULL, &command, error);
	bool is_sandboxs = false;

	if (r == 0) {
		r = yett_command_wait(command, -1, &ended_with, error);
		if (r == 0)
			result = *ended_with;
		is_sandboxs = r != 0 && run_result_of_end(yett_sandbox_ended(sandbox), &result);
	}
	yett_command_free(command);
	if (r != 0 && !is_sandboxs)
		return r;
	run_report_limits(&result, &(struct run_limits){.is_sandboxs = is_sandboxs});
	*ret_code = run_exit_code_of_result(&result);
	if (is_sandboxs && output_json()) {
		json_open(output_json(), "command", '{');
		json_number(output_json(), "id", id);
		output_json_result(output_json(), "result", &result);
		json_close(output_json());
	}
	if (is_sandboxs)
		return 0;
	r = output_json()
	            ? commands_json(sandbox, id, with_output && output_json_has_stdout(), error)
	            : 0;
	return r == 0 && with_output && !output_json_has_stdout()
	               ? write_outputs(sandbox, id, error)
	               : r;
}

int wait_main(const struct subcommand *self, int argc, char **argv)
{
	struct commands_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	uint64_t id = 0;
	int code = RUN_FAILED, first,
	    r = manage_begin(self, argc, argv, &options.common, &first, &connection);

	if (r >= 0)
		return r ? RUN_FAILED : 0; /* never taken for the command's status */
	r = parse_id(argv[first + 1], &id, &error);
	if (r == 0)
		r = yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	if (r == 0)
		r = cli_commands_wait_for(sandbox, id, options.output, &code, &error);
	if (r) {
		output_error(&error);
		code = run_exit_code_of_error(&error);
	}
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return code;
}

static void follow_output(struct yett_command *command, enum yett_stream stream, const char *bytes,
                          size_t length, void *data)
{
	FILE *to = stream == YETT_STREAM_OUT ? stdout : stderr;

	(void)command;
	(void)data;
	if (output_json_has_stdout()) {
		json_text(output_json(), "stream", stream == YETT_STREAM_OUT ? "stdout" : "stderr");
		json_bytes(output_json(), "content", bytes, length);
		output_json_line();
		return;
	}
	(void)fwrite(bytes, 1, length, to);
	(void)fflush(to);
}

/*
 * Prints the output until the command has ended, whose result is not reported here, or until stdout
 * cannot be written any more.
 */
static int cli_commands_follow(struct yett_sandbox *sandbox, uint64_t id, struct yett_error *error)
{
	const struct yett_follow_options options = {.size = sizeof options,
	                                            .on_output = follow_output};
	struct pollfd wait = {.fd = yett_sandbox_fd(sandbox), .events = POLLIN};
	struct yett_command_status *status = NULL;
	struct yett_command *command = NULL;
	const struct yett_result *result;
	int r = yett_command_follow(sandbox, id, &options, &command, error);

	if (r)
		return r;
	while ((r = yett_command_wait(command, 0, &result, error)) == YETT_E_TIMEOUT &&
	       !ferror(stdout))
		(void)poll(&wait, 1, -1);
	yett_command_free(command);
	/* The command could not be started and wrote nothing; or stdout failed, as output_end()
	 * reports. */
	if (r == YETT_E_COMMAND_FAILED || ferror(stdout))
		return 0;
	if (r == 0)
		r = yett_command_inspect(sandbox, id, &status, error);
	for (int i = 0; r == 0 && i < 2; i++)
		if (status->outputs[i]->truncated)
			note_cut((enum yett_stream)i);
	yett_free(status);
	return r;
}

int logs_main(const struct subcommand *self, int argc, char **argv)
{
	struct commands_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	uint64_t id = 0;
	int first, r = manage_begin(self, argc, argv, &options.common, &first, &connection);

	if (r >= 0)
		return r;
	r = parse_id(argv[first + 1], &id, &error);
	if (r == 0)
		r = yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	if (r == 0 && options.follow)
		r = cli_commands_follow(sandbox, id, &error);
	else if (r == 0 && !output_json_has_stdout())
		r = write_outputs(sandbox, id, &error);
	if (r == 0 && output_json())
		r = commands_json(sandbox, id, !options.follow && output_json_has_stdout(), &error);
	yett_sandbox_close(sandbox);
	return manage_finish(connection, r, &error);
}

/* Writes all of stdin to the command. */
static int give_input(int to, struct yett_error *error)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0) {
		if (n < 0 && errno != EINTR)
			return error_set(
				error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
				"cannot read standard input, which the command was to be given: %m");
		for (ssize_t used = 0, written; used<n; used += written> 0 ? written : 0) {
			written = write(to, bytes + used, (size_t)(n - used));
			if (written < 0 && errno == EPIPE)
				return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE,
				                 "the command reads no more input");
			if (written < 0 && errno != EINTR)
				return error_set(
					error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
					"cannot pass standard input on to the command: %m");
		}
	}
	return 0;
}

int input_main(const struct subcommand *self, int argc, char **argv)
{
	struct commands_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	_cleanup_fd_ int input = -1;
	uint64_t id = 0;
	int first, r = manage_begin(self, argc, argv, &options.common, &first, &connection);

	if (r >= 0)
		return r;
	r = parse_id(argv[first + 1], &id, &error);
	if (r == 0)
		r = yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	if (r == 0)
		r = yett_command_input(sandbox, id, options.more ? 0 : YETT_INPUT_LAST, &input,
		                       &error);
	(void)signal(SIGPIPE, SIG_IGN); /* give_input() reports EPIPE instead */
	if (r == 0)
		r = give_input(input, &error);
	yett_sandbox_close(sandbox);
	return manage_finish(connection, r, &error);
}

static void print_session(const struct yett_session *session)
{
	struct json *json = output_json();
	const char *directory = *session->directory ? session->directory : "/";

	if (json) {
		json_text(json, "directory", directory);
		json_open(json, "env", '[');
	} else {
		output_text(stdout, directory, false);
		(void)putchar('\n');
	}
	for (const char *const *entry = session->env; *entry; entry++) {
		if (json) {
			json_text(json, NULL, *entry);
			continue;
		}
		output_text(stdout, *entry, false);
		(void)putchar('\n');
	}
	if (json)
		json_close(json);
}

int env_main(const struct subcommand *self, int argc, char **argv)
{
	struct commands_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_session *session = NULL;
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options.common, &first, &connection);
	bool is_change;

	if (r >= 0)
		return r;
	is_change = options.directory || options.unset_count > 0 || first + 1 < argc;
	r = yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	if (r == 0 && is_change)
		r = yett_session_change(sandbox, options.directory,
		                        (const char *const *)argv + first + 1, options.unset,
		                        &error);
	else if (r == 0)
		r = yett_session_get(sandbox, &session, &error);
	if (r == 0 && !is_change)
		print_session(session);
	if (r == 0 && is_change)
		again_note_environment(sandbox, argv[first]);
	yett_free(session);
	yett_sandbox_close(sandbox);
	return manage_finish(connection, r, &error);
}
