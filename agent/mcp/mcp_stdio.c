/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett mcp`: the Model Context Protocol on standard input and output.
 *
 * Each line is one message, in both directions; nothing else is written to the output. While a
 * client does not read its answers, its input is not read, so that buffered output is bounded. Runs
 * with the caller's privilege.
 */
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "agent/front.h"
#include "agent/mcp/mcp_id.h"
#include "agent/mcp/mcp_output.h"
#include "agent/mcp/mcp_parts.h"
#include "base/units_parse.h"

#define READ_SIZE (64u << 10)
#define FLUSH_US  2000000 /* microseconds to wait for the reader at the end, since its last read */

struct stdio {
	sd_event *loop;
	struct mcp *mcp;
	struct mcp_stream *stream; /* NULL: the program is ending */
	struct mcp_output output;
	int input;
	sd_event_source *reading, *last;
	bool is_polled;            /* the input can be polled: not a regular file */
	bool is_closed, has_ended; /* the writer has closed the input; all input was read */
	char *bytes;               /* input that is not processed yet */
	size_t length, room, searched;
	bool is_dropping; /* skipping a line that is too long */
	struct mcp_id id; /* of the skipped line */
	int status;
};

/* --- shutdown --------------------------------------------------------------------------------- */

static int on_last(sd_event_source *source, uint64_t now, void *data)
{
	struct stdio *stdio = data;

	(void)source;
	(void)now;
	return sd_event_exit(stdio->loop, stdio->status);
}

/* Exits the loop when the client has read nothing for FLUSH_US. */
static void wait_for_reader(struct stdio *stdio)
{
	int r;

	if (stdio->last)
		r = sd_event_source_set_time_relative(stdio->last, FLUSH_US);
	else
		r = sd_event_add_time_relative(stdio->loop, &stdio->last, CLOCK_MONOTONIC, FLUSH_US,
		                               0, on_last, stdio);
	if (r < 0)
		(void)sd_event_exit(stdio->loop, stdio->status);
}

/* Cancels all requests. Exits the loop when all output is written, or the client does not read. */
static void mcp_stdio_finish(struct stdio *stdio, int status)
{
	struct mcp_stream *stream = stdio->stream;

	if (stream) {
		stdio->stream = NULL;
		stdio->status = status;
		mcp_stream_free(stream);
	}
	if (stdio->reading)
		(void)sd_event_source_set_enabled(stdio->reading, SD_EVENT_OFF);
	if (stdio->output.is_lost || mcp_output_waiting(&stdio->output) == 0)
		(void)sd_event_exit(stdio->loop, stdio->status);
	else
		wait_for_reader(stdio);
}

static int mcp_stdio_on_signal(sd_event_source *source, const struct signalfd_siginfo *info,
                               void *data)
{
	struct stdio *stdio = data;

	(void)source;
	(void)info;
	if (stdio->stream)
		mcp_stream_end(stdio->stream);
	mcp_stdio_finish(stdio, 0);
	return 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool mcp_stdio_is_full(const struct stdio *stdio)
{
	return mcp_output_waiting(&stdio->output) > MCP_OUTPUT_FULL;
}

static void mcp_stdio_take(struct stdio *stdio, const char *line, size_t length)
{
	json_t *id = NULL;

	if (length > 0 && line[length - 1] == '\r')
		length--;
	if (stdio->is_dropping) {
		mcp_id_look(&stdio->id, line, length);
		id = mcp_id_value(&stdio->id);
		stdio->is_dropping = false;
		mcp_stream_too_long(stdio->stream, id);
		json_decref(id);
	} else if (length > 0) {
		mcp_stream_receive(stdio->stream, line, length);
	}
}

/* Skips a line that is too long, and only searches it for its id. */
static void mcp_stdio_drop(struct stdio *stdio)
{
	if (!stdio->is_dropping)
		stdio->id = (struct mcp_id){0};
	stdio->is_dropping = true;
	mcp_id_look(&stdio->id, stdio->bytes, stdio->length);
	stdio->length = stdio->searched = 0;
}

/* Processes complete lines, as long as the client reads the answers. */
static void mcp_stdio_take_lines(struct stdio *stdio)
{
	size_t at = 0;

	while (!mcp_stdio_is_full(stdio) && !stdio->output.is_lost) {
		char *end = memchr(stdio->bytes + stdio->searched, '\n',
		                   stdio->length - stdio->searched);

		if (!end) {
			stdio->searched = stdio->length;
			break;
		}
		mcp_stdio_take(stdio, stdio->bytes + at, (size_t)(end - stdio->bytes) - at);
		at = stdio->searched = (size_t)(end - stdio->bytes) + 1;
	}
	memmove(stdio->bytes, stdio->bytes + at, stdio->length - at);
	stdio->length -= at;
	stdio->searched -= at;
	if (stdio->searched == stdio->length &&
	    stdio->length > (stdio->is_dropping ? 0 : MCP_MESSAGE_MAX))
		mcp_stdio_drop(stdio);
}

/*
 * While the output buffer is full, waits only for the end of the input; after that, for the reader.
 */
static void watch_on(struct stdio *stdio)
{
	bool is_stuck = mcp_stdio_is_full(stdio);

	if (stdio->is_polled)
		(void)sd_event_source_set_io_events(stdio->reading,
		                                    is_stuck ? EPOLLRDHUP : EPOLLIN);
	(void)sd_event_source_set_enabled(
		stdio->reading,
		is_stuck && (stdio->is_closed || !stdio->is_polled) ? SD_EVENT_OFF : SD_EVENT_ON);
	if (is_stuck && stdio->is_closed)
		wait_for_reader(stdio);
}

/* Continues after something was read or written. */
static void mcp_stdio_go_on(struct stdio *stdio)
{
	if (stdio->stream && !stdio->output.is_lost)
		mcp_stdio_take_lines(stdio);
	if (stdio->output.is_lost && stdio->stream)
		(void)fprintf(stderr, "yett mcp: nobody reads standard output\n");
	if (!stdio->stream || stdio->output.is_lost)
		mcp_stdio_finish(stdio, stdio->output.is_lost ? 1 : 0);
	else if (stdio->has_ended && !mcp_stdio_is_full(stdio))
		/* A last line without a newline is truncated, and not a message: ignore it. */
		mcp_stdio_finish(stdio, 0);
	else
		watch_on(stdio);
}

static void mcp_stdio_on_written(void *data)
{
	mcp_stdio_go_on(data);
}

/* --- input ------------------------------------------------------------------------------------ */

static int mcp_stdio_make_room(struct stdio *stdio)
{
	size_t room = stdio->room == 0 ? 2 * READ_SIZE : 2 * stdio->room;
	char *bytes;

	if (stdio->room - stdio->length >= READ_SIZE)
		return 0;
	bytes = realloc(stdio->bytes, room);
	if (!bytes)
		return -ENOMEM;
	stdio->bytes = bytes;
	stdio->room = room;
	return 0;
}

static void mcp_stdio_read_some(struct stdio *stdio)
{
	ssize_t n;

	if (mcp_stdio_make_room(stdio) < 0) {
		mcp_stdio_drop(stdio);
		return;
	}
	n = read(stdio->input, stdio->bytes + stdio->length, READ_SIZE);
	if (n > 0)
		stdio->length += (size_t)n;
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		stdio->is_closed = stdio->has_ended = true;
	mcp_stdio_go_on(stdio);
}

static int mcp_stdio_on_input(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct stdio *stdio = data;

	(void)source;
	(void)fd;
	if (mcp_stdio_is_full(stdio) && (events & (EPOLLHUP | EPOLLRDHUP))) {
		stdio->is_closed = true;
		watch_on(stdio);
	} else {
		mcp_stdio_read_some(stdio);
	}
	return 0;
}

/* Reads from a regular file, which epoll(7) does not support. */
static int on_turn(sd_event_source *source, void *data)
{
	(void)source;
	mcp_stdio_read_some(data);
	return 0;
}

static int watch_input(struct stdio *stdio)
{
	int r = sd_event_add_io(stdio->loop, &stdio->reading, stdio->input, EPOLLIN,
	                        mcp_stdio_on_input, stdio);

	stdio->is_polled = r >= 0;
	if (r != -EPERM)
		return r;
	r = sd_event_add_defer(stdio->loop, &stdio->reading, on_turn, stdio);
	return r < 0 ? r : sd_event_source_set_enabled(stdio->reading, SD_EVENT_ON);
}

/* --- running ---------------------------------------------------------------------------------- */

static void send_line(const struct mcp_message *message, void *data)
{
	struct stdio *stdio = data;

	if (message->text)
		mcp_output_line(&stdio->output, message->text, message->length);
}

static int mcp_stdio_begin(struct stdio *stdio, struct agent *agent, int output)
{
	sigset_t signals;
	int r = mcp_output_open(&stdio->output, stdio->loop, output, mcp_stdio_on_written, stdio);

	if (r >= 0)
		r = agent_watch_signals(agent, &signals, mcp_stdio_on_signal, stdio);
	if (r >= 0)
		r = watch_input(stdio);
	if (r < 0)
		return r;
	stdio->mcp = mcp_new(agent);
	stdio->stream = stdio->mcp ? mcp_stream_new(stdio->mcp, send_line, stdio) : NULL;
	return stdio->stream && mcp_stdio_make_room(stdio) == 0 ? 0 : -ENOMEM;
}

/*
 * Reads messages from `input`, one per line, and writes answers to `output`. Ends at the end of
 * `input`, when the reader of `output` is gone, or on a signal; then cancels all requests. A call
 * that takes longer than `patience_ms` is answered as running. Returns the exit status.
 */
static int mcp_stdio_run(struct agent *agent, int input, int output, uint64_t patience_ms)
{
	struct stdio stdio = {.loop = agent->loop, .input = input, .output.flags = -1};
	int r = mcp_stdio_begin(&stdio, agent, output);

	if (r >= 0) {
		stdio.mcp->patience_ms = patience_ms;
		r = sd_event_loop(stdio.loop);
	}
	if (r < 0)
		(void)fprintf(stderr, "yett mcp: cannot go on: %s\n", strerror(-r));
	stdio.reading = sd_event_source_unref(stdio.reading);
	stdio.last = sd_event_source_unref(stdio.last);
	mcp_free(stdio.mcp);
	mcp_output_close(&stdio.output);
	free(stdio.bytes);
	return r < 0 ? 1 : r;
}

static void mcp_stdio_print_usage(FILE *to)
{
	(void)fputs(
		"Usage: yett mcp [--patience DUR]\n\n"
		"Serves the Model Context Protocol to a host (an editor, a chat program, an agent): reads JSON-RPC messages from\n"
		"standard input, one a line, and answers on standard output. When the input ends, the programs that were started for the host end, too.\n\n"
		"      --patience DUR   answer a call that takes longer as running, for wait_command to continue; default 45s\n\n"
		"Configure the host to run `yett mcp`: see docs/agents.md.\n",
		to);
}

/* Parses a duration such as 30s or 5m. Returns 0, or -EINVAL also for less than 1 ms. */
static int read_time(const char *text, uint64_t *ret_ms)
{
	int r = units_parse_duration(text, ret_ms);

	return r < 0 || *ret_ms == 0 ? -EINVAL : 0;
}

int mcp_main(struct agent *agent, int argc, char **argv)
{
	static const struct option options[] = {
		{"patience", required_argument, NULL, 'p'}, {"help", no_argument, NULL, 'h'}, {0}};
	uint64_t patience_ms = MCP_PATIENCE_MS;
	int c;

	while ((c = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (c == 'h') {
			mcp_stdio_print_usage(stdout);
			return 0;
		}
		if (c != 'p')
			return FRONT_USAGE;
		if (read_time(optarg, &patience_ms) < 0) {
			(void)fprintf(stderr,
			              "yett mcp: --patience: expected a time like 30s or 5m\n");
			return FRONT_USAGE;
		}
	}
	if (optind == argc)
		return mcp_stdio_run(agent, STDIN_FILENO, STDOUT_FILENO, patience_ms);
	mcp_stdio_print_usage(stderr);
	return FRONT_USAGE;
}
