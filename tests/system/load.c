/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that does what it reads, a word a line, in one sandbox, and says "done" when all of it
 * came out right: "row N": N commands one after the other, their outputs kept; "all N": N commands
 * at once, their outputs streamed; "flow SECONDS": 10 MB a second through one stream, of which each
 * byte is looked at, and as much into an output that is cut.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yett.h>

#include "tests/support/waiting.h"

#define ARGV(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define FLOW_BYTES 1000000 /* in a tenth of a second */
#define KEPT       4096

static struct yett_sandbox *sandbox;
static struct yett_error error;

/* Blocks of counters of eight bytes, ten a second. Who writes late does not write less. */
static const char producer[] =
	"import array, os, sys, time\n"
	"start, at = time.monotonic(), 0\n"
	"for i in range(int(sys.argv[1]) * 10):\n"
	"    block = memoryview(array.array('Q', range(at, at + 125000))).cast('B')\n"
	"    at += 125000\n"
	"    while block:\n"
	"        block = block[os.write(1, block):]\n"
	"    time.sleep(max(0, start + (i + 1) / 10 - time.monotonic()))\n";

struct stream {
	char text[64];
	size_t length;
	uint64_t next;         /* the counter that is due */
	unsigned char part[8]; /* of one that came in pieces */
	bool is_wrong;
};

static void need(bool condition, const char *what)
{
	if (condition)
		return;
	(void)fprintf(stderr, "load: %s: %s; %s\n", what, error.message, error.detail);
	exit(1);
}

static int wait_for(struct yett_command *command)
{
	const struct yett_result *result = NULL;
	int status;

	need(yett_command_wait(command, waiting_deadline_ms(), &result, &error) == 0, "wait");
	status = result->signaled ? -result->status : result->status;
	yett_command_free(command);
	return status;
}

static void do_row(int count)
{
	static const int stdio[] = {YETT_STDIO_NULL, YETT_STDIO_CAPTURE, YETT_STDIO_AS_OUTPUT};

	for (int i = 0; i < count; i++) {
		char script[64], expected[32];
		struct yett_command_options options = {.size = sizeof options,
		                                       .argv = ARGV("sh", "-c", script),
		                                       .stdio = stdio,
		                                       .capture_bytes = KEPT};
		struct yett_command *command;
		struct yett_captured *kept = NULL;
		uint64_t id;

		(void)snprintf(script, sizeof script, "echo %d; exit %d", i, i % 100);
		(void)snprintf(expected, sizeof expected, "%d\n", i);
		need(yett_sandbox_exec(sandbox, &options, &command, &error) == 0, "exec");
		need(yett_command_wait(command, waiting_deadline_ms(), NULL, &error) == 0, "wait");
		id = yett_command_id(command);
		need(wait_for(command) == i % 100, "status");
		need(yett_command_output(sandbox, id, YETT_STREAM_OUT, &kept, &error) == 0,
		     "output");
		need(strcmp(kept->bytes, expected) == 0 && !kept->truncated, "what was kept");
		yett_free(kept);
	}
}

static void hear_text(struct yett_command *command, enum yett_stream stream, const char *bytes,
                      size_t length, void *data)
{
	struct stream *to = data;

	(void)command;
	(void)stream;
	to->is_wrong = to->is_wrong || length > sizeof to->text - 1 - to->length;
	if (to->is_wrong)
		return;
	memcpy(to->text + to->length, bytes, length);
	to->length += length;
}

static void do_all(int count)
{
	static const int stdio[] = {YETT_STDIO_NULL, YETT_STDIO_STREAM, YETT_STDIO_AS_OUTPUT};
	struct yett_command **commands = calloc((size_t)count, sizeof *commands);
	struct stream *streams = calloc((size_t)count, sizeof *streams);
	char expected[32], script[64];

	need(commands && streams, "memory");
	for (int i = 0; i < count; i++) {
		struct yett_command_options options = {.size = sizeof options,
		                                       .argv = ARGV("sh", "-c", script),
		                                       .stdio = stdio,
		                                       .on_output = hear_text,
		                                       .data = &streams[i]};

		(void)snprintf(script, sizeof script, "echo number; echo %d >&2; exit %d", i,
		               i % 100);
		need(yett_sandbox_exec(sandbox, &options, &commands[i], &error) == 0, "exec");
	}
	for (int i = 0; i < count; i++) {
		need(wait_for(commands[i]) == i % 100, "status");
		(void)snprintf(expected, sizeof expected, "number\n%d\n", i);
		need(!streams[i].is_wrong && strcmp(streams[i].text, expected) == 0,
		     "what was streamed");
	}
	free(commands);
	free(streams);
}

static void hear_counters(struct yett_command *command, enum yett_stream which, const char *bytes,
                          size_t length, void *data)
{
	struct stream *stream = data;

	(void)command;
	(void)which;
	for (size_t i = 0; i < length; i++) {
		uint64_t counter;

		stream->part[stream->length++ % 8] = (unsigned char)bytes[i];
		if (stream->length % 8 != 0)
			continue;
		memcpy(&counter, stream->part, sizeof counter);
		stream->is_wrong = stream->is_wrong || counter != stream->next++;
	}
}

static void do_flow(int seconds)
{
	static const int streamed[] = {YETT_STDIO_NULL, YETT_STDIO_STREAM, YETT_STDIO_NULL};
	static const int kept[] = {YETT_STDIO_NULL, YETT_STDIO_CAPTURE, YETT_STDIO_NULL};
	struct stream stream = {.length = 0};
	char text[16];
	struct yett_command_options options = {.size = sizeof options,
	                                       .argv = ARGV("python3", "-c", producer, text),
	                                       .stdio = streamed,
	                                       .on_output = hear_counters,
	                                       .data = &stream};
	struct yett_command *one, *other;
	struct yett_command_status *status = NULL;
	uint64_t id;

	(void)snprintf(text, sizeof text, "%d", seconds);
	need(yett_sandbox_exec(sandbox, &options, &one, &error) == 0, "exec");
	options.stdio = kept;
	options.capture_bytes = KEPT;
	need(yett_sandbox_exec(sandbox, &options, &other, &error) == 0, "exec");
	need(wait_for(one) == 0, "status");
	need(!stream.is_wrong && stream.length == (size_t)seconds * 10 * FLOW_BYTES,
	     "what was streamed");
	need(yett_command_wait(other, waiting_deadline_ms(), NULL, &error) == 0, "wait");
	id = yett_command_id(other);
	need(wait_for(other) == 0, "status");
	need(yett_command_inspect(sandbox, id, &status, &error) == 0, "inspect");
	need(status->outputs[0]->length == KEPT && status->outputs[0]->truncated, "what was kept");
	yett_free(status);
}

int main(void)
{
	const struct {
		const char *name;
		void (*act)(int number);
	} words[] = {{"row", do_row}, {"all", do_all}, {"flow", do_flow}};
	struct yett_connection *connection = NULL;
	char line[64], word[16];
	int number;

	need(yett_connect(NULL, &connection, &error) == 0, "connect");
	need(yett_sandbox_create(connection, NULL, &sandbox, &error) == 0, "create");
	while (fgets(line, sizeof line, stdin) && sscanf(line, "%15s %d", word, &number) == 2) {
		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			if (strcmp(words[i].name, word) == 0)
				words[i].act(number);
		(void)puts("done");
		(void)fflush(stdout);
	}
	need(yett_sandbox_end(sandbox, &error) == 0, "end");
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return 0;
}
