/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett tool`: reads one request as JSON, and prints one answer. With --lines, reads a request from
 * each line of the input, and prints each answer on a line.
 *
 * Runs with the caller's privilege.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "agent/operations.h"
#include "agent/front.h"
#include "agent/problem.h"
#include "agent/runner/runner_ask.h"

#define INPUT_MAX (10 << 20)
#define READ_SIZE (64u << 10)

/* Exit statuses by outcome; the manual lists them. */
static const int statuses[] = {
	[CALL_SUCCEEDED] = 0,   [CALL_PROGRAM_FAILED] = 1, [CALL_INVALID] = 2,
	[CALL_REFUSED] = 3,     [CALL_TIMED_OUT] = 4,      [CALL_NOT_FOUND] = 5,
	[CALL_UNSUPPORTED] = 6, [CALL_UNAVAILABLE] = 7,    [CALL_CANCELLED] = 8,
};

struct tool {
	struct agent *agent;
	const char *operation; /* NULL: the request names it */
	bool by_lines;
	struct call *call;
	int status;
	sigset_t signals;
	int signal; /* the signal that was received; 0: none */
	sd_event_source *input;
	bool is_readable, has_ended; /* state of the standard input */
	char *bytes;                 /* input; the bytes before `taken` are processed */
	size_t length, room, taken;
};

static const struct option options[] = {
	{"lines", no_argument, NULL, 'l'},
	{"list", no_argument, NULL, 'L'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void tool_print_usage(FILE *to)
{
	(void)fputs(
		"Usage: yett tool [--lines] [OPERATION]\n\n"
		"Reads a request as one JSON object from the standard input, and prints the answer as another. Without OPERATION its member\n"
		"\"operation\" names the operation, and the other members are the arguments.\n\n"
		"      --lines  a request on each line, and an answer on each line, until the input ends\n"
		"      --list   print the operations and the settings, with their JSON Schemas\n\n"
		"Exit status: 0 done, 1 the program that was run has failed, 2 the request is wrong, 3 the policy refuses it, 4 the time limit was reached,\n"
		"5 something named does not exist, 6 not supported here, 7 the helper is not available, 8 cancelled.\n\nOperations:\n",
		to);
	for (const struct operation *operation = operations; operation->name; operation++)
		(void)fprintf(to, "  %-13s %s\n", operation->name, operation->title);
}

static int tool_list(void)
{
	json_t *described = json_array(), *all;

	for (const struct operation *operation = operations; operation->name; operation++)
		(void)json_array_append_new(described, operation_describe(operation));
	all = json_pack("{s:o, s:o, s:o, s:o, s:o}", "operations", described, "settings",
	                fields_schema(settings_fields), "may", fields_schema(bounds_fields),
	                "languages", runner_list_languages(), "findings", runner_list_findings());
	(void)json_dumpf(all, stdout, JSON_INDENT(2));
	(void)putchar('\n');
	json_decref(all);
	return 0;
}

static void tool_print(const json_t *answer)
{
	/*
	 * Terminals also act on Unicode control characters that JSON does not require to be
	 * escaped.
	 */
	(void)json_dumpf(answer, stdout,
	                 FIELD_DUMP | JSON_ENCODE_ANY |
	                         (isatty(STDOUT_FILENO) ? JSON_ENSURE_ASCII : 0));
	(void)putchar('\n');
	(void)fflush(stdout);
}

static void tool_on_done(struct call *call, void *data)
{
	struct tool *tool = data;

	tool_print(call_answer(call));
	tool->status = statuses[call_outcome(call)];
	call_free(call);
	tool->call = NULL;
}

static int tool_on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *data)
{
	struct tool *tool = data;

	(void)source;
	tool->signal = (int)info->ssi_signo;
	return 0;
}

/* Answers an unreadable request like an invalid call. */
static void tool_refuse(struct tool *tool, const struct yett_error *error)
{
	json_t *answer = json_pack("{s:o}", "error", problem_json(error));

	tool_print(answer);
	json_decref(answer);
	tool->status = statuses[CALL_INVALID];
}

/* Sends one request, and runs the loop until it is answered or a signal comes. */
static void tool_ask(struct tool *tool, const char *text, size_t length)
{
	const struct call_options how = {.on_done = tool_on_done, .data = tool};
	struct yett_error error;
	json_error_t where;
	json_t *request = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where), *name;

	if (!json_is_object(request)) {
		(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_MALFORMED,
		                "the request is no JSON object: %.150s",
		                request ? "another JSON type" : where.text);
		tool_refuse(tool, &error);
		json_decref(request);
		return;
	}
	name = tool->operation ? NULL : json_incref(json_object_get(request, "operation"));
	if (!tool->operation)
		(void)json_object_del(request, "operation");
	if (!tool->operation && !json_is_string(name)) {
		(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_MISSING_FIELD,
		                "operation: this is missing; yett tool --list has their names");
		tool_refuse(tool, &error);
	} else {
		tool->call = operations_begin(
			tool->agent, tool->operation ? tool->operation : json_string_value(name),
			request, &how);
		(void)sigprocmask(SIG_BLOCK, &tool->signals, NULL);
		while (tool->call && !tool->signal &&
		       sd_event_run(tool->agent->loop, UINT64_MAX) >= 0)
			;
		(void)sigprocmask(SIG_UNBLOCK, &tool->signals, NULL);
	}
	json_decref(name);
	json_decref(request);
}

/* Reads the whole input, up to one byte more than INPUT_MAX. NULL: no memory. */
static char *tool_read_all(FILE *from, size_t *ret_length)
{
	char *bytes = malloc(INPUT_MAX + 1);

	if (bytes)
		*ret_length = fread(bytes, 1, INPUT_MAX + 1, from);
	return bytes;
}

static void ask_line(struct tool *tool, const char *text, size_t length)
{
	struct yett_error error;

	if (length <= INPUT_MAX) {
		tool_ask(tool, text, length);
		return;
	}
	(void)error_set(&error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
	                "the request is longer than %d bytes", INPUT_MAX);
	tool_refuse(tool, &error);
}

/* --- lines ------------------------------------------------------------------------------------ */

static int tool_on_input(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct tool *tool = data;

	(void)source;
	(void)fd;
	(void)events;
	tool->is_readable = true;
	return 0;
}

/*
 * Runs the loop until there is input, so that background executions continue. Does not wait for a
 * regular file: epoll(7) does not support it, and a read from it does not block.
 */
static void wait_for_input(struct tool *tool)
{
	int r = tool->input ? sd_event_source_set_enabled(tool->input, SD_EVENT_ONESHOT)
	                    : sd_event_add_io(tool->agent->loop, &tool->input, STDIN_FILENO,
	                                      EPOLLIN, tool_on_input, tool);

	tool->is_readable = r < 0;
	while (!tool->is_readable && sd_event_run(tool->agent->loop, UINT64_MAX) >= 0)
		;
	if (tool->input)
		(void)sd_event_source_set_enabled(tool->input, SD_EVENT_OFF);
}

static int tool_make_room(struct tool *tool)
{
	size_t room = 2 * (tool->length + READ_SIZE);
	char *bytes;

	tool->length -= tool->taken;
	if (tool->taken)
		memmove(tool->bytes, tool->bytes + tool->taken, tool->length);
	tool->taken = 0;
	if (tool->room - tool->length >= READ_SIZE)
		return 0;
	bytes = realloc(tool->bytes, room);
	if (!bytes)
		return -ENOMEM;
	tool->bytes = bytes;
	tool->room = room;
	return 0;
}

static void tool_read_some(struct tool *tool)
{
	ssize_t n;

	wait_for_input(tool);
	n = read(STDIN_FILENO, tool->bytes + tool->length, READ_SIZE);
	if (n > 0)
		tool->length += (size_t)n;
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		tool->has_ended = true;
}

/*
 * Returns the next line, valid until the next call. The last line may lack its newline. NULL: no
 * more lines, or no memory.
 */
static const char *next_line(struct tool *tool, size_t *ret_length)
{
	size_t searched = 0;
	const char *line, *end = NULL;

	for (;;) {
		line = tool->bytes + tool->taken;
		*ret_length = tool->length - tool->taken;
		end = *ret_length > searched ? memchr(line + searched, '\n', *ret_length - searched)
		                             : NULL;
		if (end || tool->has_ended)
			break;
		searched = *ret_length;
		if (tool_make_room(tool) < 0)
			return NULL;
		tool_read_some(tool);
	}
	if (end)
		*ret_length = (size_t)(end - line);
	tool->taken += *ret_length + (end ? 1 : 0);
	return end || *ret_length ? line : NULL;
}

static bool is_blank(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

static void ask_all(struct tool *tool)
{
	_cleanup_free_ char *text = NULL;
	const char *line;
	size_t length = 0;

	if (!tool->by_lines) {
		text = tool_read_all(stdin, &length);
		if (text)
			ask_line(tool, text, length);
		return;
	}
	while (!tool->signal && (line = next_line(tool, &length)))
		if (!is_blank(line, length))
			ask_line(tool, line, length);
	free(tool->bytes);
}

int tool_main(struct agent *agent, int argc, char **argv)
{
	struct tool tool = {.agent = agent, .status = statuses[CALL_UNAVAILABLE]};
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1)
		switch (c) {
		case 'l':
			tool.by_lines = true;
			break;
		case 'L':
			return tool_list();
		case 'h':
			tool_print_usage(stdout);
			return 0;
		default:
			return FRONT_USAGE;
		}
	if (argc - optind > 1) {
		tool_print_usage(stderr);
		return FRONT_USAGE;
	}
	tool.operation = optind < argc ? argv[optind] : NULL;
	if (agent_watch_signals(agent, &tool.signals, tool_on_signal, &tool) < 0)
		return tool.status;
	/*
	 * During a request, these signals cancel the request and end the program. Between requests
	 * they keep their default action.
	 */
	(void)sigprocmask(SIG_UNBLOCK, &tool.signals, NULL);
	ask_all(&tool);
	call_free(tool.call);
	(void)sd_event_source_disable_unref(tool.input);
	return tool.signal ? 128 + tool.signal : tool.status;
}
