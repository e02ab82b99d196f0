/* See commands.h. */
#include "cli/commands.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#include "base/units.h"
#include "cli/manage.h"
#include "cli/output.h"
#include "cli/run.h"

#define ENV_UNSET_MAX 1024

/* Of wait, logs, input, kill and env; each table sets but a part. */
struct commands_run_options {
	struct manage_run_options common; /* first, for manage_begin() */
	bool output, follow, more;
	int signal; /* 0: SIGKILL to all that was started */
	const char *directory;
	const char *unset[ENV_UNSET_MAX + 1];
	size_t unset_count;
};

OPTION_TEXT(set_socket, struct commands_run_options, common.socket_path)
OPTION_FLAG(set_json, struct commands_run_options, common.json)
OPTION_FLAG(set_output, struct commands_run_options, output)

const struct option wait_options[] = {
	{'o', "output", NULL, "print the outputs that were kept of it", set_output},
	{0, "socket", "PATH", "the socket of the service (" YETT_SOCKET_PATH ")", set_socket},
	{0},
};

OPTION_FLAG(set_follow, struct commands_run_options, follow)

const struct option logs_options[] = {
	{'f', "follow", NULL, "go on with what it writes, until it has ended", set_follow},
	{0, "socket", "PATH", "the socket of the service (" YETT_SOCKET_PATH ")", set_socket},
	{0},
};

OPTION_FLAG(set_more, struct commands_run_options, more)

const struct option input_options[] = {
	{0, "more", NULL, "this is not the last: the command goes on waiting for input", set_more},
	{0, "socket", "PATH", "the socket of the service (" YETT_SOCKET_PATH ")", set_socket},
	{0},
};

/* Its number, or its name with or without SIG. */
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
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--signal %s: expected a signal, like TERM or 15", value);
}

const struct option kill_options[] = {
	{'s', "signal", "SIGNAL", "send the process group of each command this signal, like TERM or 15 (KILL, to all it started)", set_signal},
	{0, "socket", "PATH", "the socket of the service (" YETT_SOCKET_PATH ")", set_socket},
	{0},
};

static int set_directory(void *into, const char *value, struct yett_error *error)
{
	if (value[0] != '/')
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "--directory %s: expected an absolute path inside", value);
	((struct commands_run_options *)into)->directory = value;
	return 0;
}

static int set_unset(void *into, const char *value, struct yett_error *error)
{
	struct commands_run_options *options = into;

	if (options->unset_count == ENV_UNSET_MAX)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "more than %d variables", ENV_UNSET_MAX);
	options->unset[options->unset_count++] = value;
	return 0;
}

const struct option env_options[] = {
	{'C', "directory", "DIR", "the directory that commands start in", set_directory},
	{'u', "unset", "NAME", "take a variable away", set_unset},
	{0, "json", NULL, "print one JSON object", set_json},
	{0, "socket", "PATH", "the socket of the service (" YETT_SOCKET_PATH ")", set_socket},
	{0},
};

/* The number of a command. */
static int parse_id(const char *text, uint64_t *ret_id, struct yett_error *error)
{
	if (units_parse_number(text, ret_id) < 0 || *ret_id == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "%s is no id of a command: yett ps SANDBOX tells them", text);
	return 0;
}

static void print_json(const struct yett_command_status *s)
{
	const char *separator = "";

	(void)printf("{\"id\": %llu, \"state\": \"%s\", \"command\": ", (unsigned long long)s->id, yett_command_state_name(s->state));
	output_json_string(stdout, s->text);
	(void)printf(", \"pid\": %u, \"started_ms\": %llu, ", s->pid, (unsigned long long)s->started_ms);
	output_json_result(stdout, &s->result);
	(void)fputs(", \"outputs\": [", stdout);
	for (size_t i = 0; i < ARRAY_SIZE(s->outputs); i++, separator = ", ")
		if (s->outputs[i].captured)
			(void)printf("%s{\"length\": %zu, \"truncated\": %s}", separator, s->outputs[i].length,
				     s->outputs[i].truncated ? "true" : "false");
		else
			(void)printf("%snull", separator);
	(void)fputs("], \"error\": ", stdout);
	output_json_error(stdout, &s->error);
	(void)putchar('}');
}

static void print_row(const struct yett_command_status *s)
{
	char status[32] = "-", wall[32];

	if (s->result.signaled)
		(void)snprintf(status, sizeof status, "signal %d", s->result.status);
	else if (s->state == YETT_COMMAND_COMPLETED || s->state == YETT_COMMAND_TIMEOUT || s->state == YETT_COMMAND_KILLED)
		(void)snprintf(status, sizeof status, "%d", s->result.status);
	output_duration(wall, sizeof wall, s->result.wall_us / 1000);
	(void)printf("%6llu  %-9s  %9s  %9s  ", (unsigned long long)s->id, yett_command_state_name(s->state), status, wall);
	output_text(stdout, s->text, false);
	(void)putchar('\n');
}

int commands_print(struct yett_connection *connection, const char *id_or_name, bool json, bool quiet, struct yett_error *error)
{
	_cleanup_free_ struct yett_command_status *list = NULL;
	struct yett_sandbox *sandbox = NULL;
	size_t count = 0;
	int r = yett_sandbox_attach(connection, id_or_name, &sandbox, error);

	if (r == 0)
		r = yett_commands_list(sandbox, &list, &count, error);
	(void)yett_sandbox_detach(sandbox, NULL);
	if (r)
		return r;
	if (!json && !quiet)
		(void)printf("%6s  %-9s  %9s  %9s  %s\n", "ID", "STATE", "STATUS", "TIME", "COMMAND");
	for (size_t i = 0; i < count; i++) {
		if (json) {
			(void)fputs(i ? ",\n " : "[", stdout);
			print_json(&list[i]);
		} else if (quiet) {
			(void)printf("%llu\n", (unsigned long long)list[i].id);
		} else {
			print_row(&list[i]);
		}
	}
	if (json)
		(void)puts(count ? "]" : "[]");
	return 0;
}

/* One command. */
static int kill_one(struct yett_sandbox *sandbox, uint64_t id, int signal, struct yett_error *error)
{
	return signal == 0 || signal == SIGKILL ? yett_command_kill(sandbox, id, error)
						: yett_command_signal_by_id(sandbox, id, signal, error);
}

/* A signal to every command that runs; one may have ended meanwhile. */
static int kill_each(struct yett_sandbox *sandbox, int signal, struct yett_error *error)
{
	_cleanup_free_ struct yett_command_status *list = NULL;
	size_t count = 0;
	int r = yett_commands_list(sandbox, &list, &count, error);

	for (size_t i = 0; r == 0 && i < count; i++) {
		if (list[i].state != YETT_COMMAND_PENDING && list[i].state != YETT_COMMAND_RUNNING)
			continue;
		r = kill_one(sandbox, list[i].id, signal, error);
		if (r == YETT_E_NOT_RUNNING || r == YETT_E_NOT_FOUND)
			r = yett_sandbox_ended(sandbox) == YETT_ENDED_NOT ? 0 : r;
	}
	return r;
}

int kill_main(const struct subcommand *self, int argc, char **argv)
{
	struct commands_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	uint64_t id;
	int first, failed = 0, r = manage_begin(self, argc, argv, &options.common, &first, &connection);
	bool is_all = first + 1 == argc, is_kill = options.signal == 0 || options.signal == SIGKILL;

	if (r >= 0)
		return r;
	r = is_all && is_kill ? yett_sandbox_kill(connection, argv[first], &error)
			      : yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	if (r == 0 && is_all && !is_kill)
		r = kill_each(sandbox, options.signal, &error);
	for (int at = first + 1; r == 0 && at < argc; at++) {
		if (parse_id(argv[at], &id, &error) == 0 && kill_one(sandbox, id, options.signal, &error) == 0)
			continue;
		output_error(&error);
		failed = 1;
	}
	if (r)
		output_error(&error);
	(void)yett_sandbox_detach(sandbox, NULL);
	yett_connection_close(connection);
	return r || failed ? EXIT_FAILED : 0;
}

static void note_cut(enum yett_stream stream)
{
	output_note("%s is cut: more was written than kept", stream == YETT_STREAM_OUT ? "the output" : "the error output");
}

static int write_output(struct yett_sandbox *sandbox, uint64_t id, enum yett_stream stream, FILE *to, struct yett_error *error)
{
	struct yett_captured kept = {0};
	int r = yett_command_output(sandbox, id, stream, &kept, error);

	if (r)
		return r;
	(void)fwrite(kept.bytes, 1, kept.length, to); /* that it could not be written is told at the end */
	(void)fflush(to);
	if (kept.truncated)
		note_cut(stream);
	free(kept.bytes);
	return r;
}

static int write_outputs(struct yett_sandbox *sandbox, uint64_t id, struct yett_error *error)
{
	struct yett_command_status status;
	int r = yett_command_inspect(sandbox, id, &status, error);

	if (r == 0 && !status.outputs[0].captured && !status.outputs[1].captured)
		r = error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "no output of command %llu is kept", (unsigned long long)id);
	if (r == 0 && status.outputs[0].captured)
		r = write_output(sandbox, id, YETT_STREAM_OUT, stdout, error);
	if (r == 0 && status.outputs[1].captured)
		r = write_output(sandbox, id, YETT_STREAM_ERR, stderr, error);
	return r;
}

/* 0 or a code; *ret_code is what the command exited with. Which limit ended it is told. */
static int wait_for(struct yett_sandbox *sandbox, uint64_t id, bool with_output, int *ret_code, struct yett_error *error)
{
	struct yett_command *command = NULL;
	struct yett_result result;
	int r = yett_command_attach(sandbox, id, NULL, NULL, &command, error);
	bool is_sandboxs = false;

	if (r == 0) {
		r = yett_command_wait(command, -1, &result, error);
		is_sandboxs = r != 0 && run_result_of_end(yett_sandbox_ended(sandbox), &result);
	}
	yett_command_free(command);
	if (r != 0 && !is_sandboxs)
		return r;
	run_report_limits(&result, &(struct run_limits){.is_sandboxs = is_sandboxs});
	*ret_code = run_exit_code_of_result(&result);
	return with_output && !is_sandboxs ? write_outputs(sandbox, id, error) : 0;
}

int wait_main(const struct subcommand *self, int argc, char **argv)
{
	struct commands_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	uint64_t id = 0;
	int code = RUN_FAILED, first, r = manage_begin(self, argc, argv, &options.common, &first, &connection);

	if (r >= 0)
		return r ? RUN_FAILED : 0; /* which no command is taken for */
	r = parse_id(argv[first + 1], &id, &error);
	if (r == 0)
		r = yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	if (r == 0)
		r = wait_for(sandbox, id, options.output, &code, &error);
	if (r) {
		output_error(&error);
		code = run_exit_code_of_error(&error);
	}
	(void)yett_sandbox_detach(sandbox, NULL);
	yett_connection_close(connection);
	return code;
}

static void follow_output(struct yett_command *command, enum yett_stream stream, const char *bytes, size_t length, void *data)
{
	FILE *to = stream == YETT_STREAM_OUT ? stdout : stderr;

	(void)command;
	(void)data;
	(void)fwrite(bytes, 1, length, to);
	(void)fflush(to);
}

/* Until it has ended, which is none of ours to report, or nobody can be told any more. */
static int follow(struct yett_sandbox *sandbox, uint64_t id, struct yett_error *error)
{
	const struct yett_follow_options options = {.on_output = follow_output};
	struct pollfd wait = {.fd = yett_sandbox_fd(sandbox), .events = POLLIN};
	struct yett_command_status status;
	struct yett_command *command = NULL;
	struct yett_result result;
	int r = yett_command_follow(sandbox, id, &options, &command, error);

	if (r)
		return r;
	while ((r = yett_command_wait(command, 0, &result, error)) == YETT_E_TIMEOUT && !ferror(stdout))
		(void)poll(&wait, 1, -1);
	yett_command_free(command);
	if (r == YETT_E_COMMAND_FAILED || ferror(stdout))
		return 0; /* it could not be started, and wrote nothing; or that it could not be written is told at the end */
	if (r == 0)
		r = yett_command_inspect(sandbox, id, &status, error);
	for (int i = 0; r == 0 && i < 2; i++)
		if (status.outputs[i].truncated)
			note_cut((enum yett_stream)i);
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
	if (r == 0)
		r = options.follow ? follow(sandbox, id, &error) : write_outputs(sandbox, id, &error);
	(void)yett_sandbox_detach(sandbox, NULL);
	return manage_finish(connection, r, &error);
}

/* All of stdin. */
static int give_input(int to, struct yett_error *error)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, bytes, sizeof bytes)) != 0) {
		if (n < 0 && errno != EINTR)
			return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot read the input: %m");
		for (ssize_t used = 0, written; used < n; used += written > 0 ? written : 0) {
			written = write(to, bytes + used, (size_t)(n - used));
			if (written < 0 && errno == EPIPE)
				return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the command reads no more input");
			if (written < 0 && errno != EINTR)
				return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot write the input: %m");
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
		r = yett_command_input(sandbox, id, !options.more, &input, &error);
	(void)signal(SIGPIPE, SIG_IGN); /* give_input() says what it would */
	if (r == 0)
		r = give_input(input, &error);
	(void)yett_sandbox_detach(sandbox, NULL);
	return manage_finish(connection, r, &error);
}

static void print_session(const struct yett_session *session, bool json)
{
	const char *separator = "";

	if (json) {
		(void)fputs("{\"directory\": ", stdout);
		output_json_string(stdout, *session->directory ? session->directory : "/");
		(void)fputs(", \"env\": [", stdout);
	} else {
		output_text(stdout, *session->directory ? session->directory : "/", false);
		(void)putchar('\n');
	}
	for (char **entry = session->env; *entry; entry++) {
		(void)fputs(separator, stdout);
		if (json)
			output_json_string(stdout, *entry);
		else
			output_text(stdout, *entry, false);
		(void)fputs(json ? "" : "\n", stdout);
		separator = json ? ", " : "";
	}
	if (json)
		(void)puts("]}");
}

int env_main(const struct subcommand *self, int argc, char **argv)
{
	struct commands_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_session session = {0};
	struct yett_error error = {0};
	int first, r = manage_begin(self, argc, argv, &options.common, &first, &connection);
	bool is_change;

	if (r >= 0)
		return r;
	is_change = options.directory || options.unset_count > 0 || first + 1 < argc;
	r = yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	if (r == 0 && is_change)
		r = yett_session_change(sandbox, options.directory, (const char *const *)argv + first + 1, options.unset, &error);
	else if (r == 0)
		r = yett_session_get(sandbox, &session, &error);
	if (r == 0 && !is_change)
		print_session(&session, options.common.json);
	yett_session_free(&session);
	(void)yett_sandbox_detach(sandbox, NULL);
	return manage_finish(connection, r, &error);
}
