/* See commands.h. */
#include "cli/commands.h"

#include <string.h>

#include "base/units.h"
#include "cli/manage.h"
#include "cli/output.h"
#include "cli/run.h"

#define ENV_UNSET_MAX 1024

/* Of wait and env; each table sets but a part. */
struct commands_run_options {
	struct manage_run_options common; /* first, for manage_begin() */
	bool output;
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

int kill_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct yett_connection *connection;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	uint64_t id;
	int first, failed = 0, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	r = first + 1 == argc ? yett_sandbox_kill(connection, argv[first], &error)
			      : yett_sandbox_attach(connection, argv[first], &sandbox, &error);
	for (int at = first + 1; r == 0 && at < argc; at++) {
		if (parse_id(argv[at], &id, &error) == 0 && yett_command_kill(sandbox, id, &error) == 0)
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

static int write_output(struct yett_sandbox *sandbox, uint64_t id, enum yett_stream stream, FILE *to, struct yett_error *error)
{
	struct yett_captured kept = {0};
	int r = yett_command_output(sandbox, id, stream, &kept, error);

	if (r)
		return r;
	(void)fwrite(kept.bytes, 1, kept.length, to); /* that it could not be written is told at the end */
	(void)fflush(to);
	if (kept.truncated)
		output_note("%s is cut: more was written than kept", stream == YETT_STREAM_OUT ? "the output" : "the error output");
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

/* 0 or a code; *ret_code is what the command exited with. */
static int wait_for(struct yett_sandbox *sandbox, uint64_t id, bool with_output, int *ret_code, struct yett_error *error)
{
	struct yett_command *command = NULL;
	struct yett_result result;
	int r = yett_command_attach(sandbox, id, NULL, NULL, &command, error);

	if (r == 0)
		r = yett_command_wait(command, -1, &result, error);
	yett_command_free(command);
	if (r == 0)
		*ret_code = result.timed_out ? RUN_TIMED_OUT : result.signaled ? RUN_SIGNALED + result.status : result.status;
	return r == 0 && with_output ? write_outputs(sandbox, id, error) : r;
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
