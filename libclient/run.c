/* SPDX-License-Identifier: Apache-2.0 */
/* yett_run(): runs a command to its end and keeps its output. Built on the functions of yett.h. */
#include "libclient/yett.h"

#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "libclient/options.h"

struct capture {
	char *bytes;
	size_t length, size;
	bool truncated;
};

#define BOTH 2 /* index of the combined output, after those of the two streams */

struct run {
	struct capture captures[BOTH + 1];
	size_t max;
	bool has_no_memory;
};

static void run_free(struct run *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(run->captures); i++)
		yett_free(run->captures[i].bytes);
}

/* Appends the bytes that fit into run->max, and a NUL. */
static void libclient_run_keep(struct run *run, size_t which, const char *bytes, size_t length)
{
	struct capture *capture = &run->captures[which];
	size_t room = run->max - capture->length;

	if (length > room) {
		length = room;
		capture->truncated = true;
	}
	if (capture->length + length + 1 > capture->size) {
		size_t size = capture->length + length + 1 + capture->length / 2;
		char *grown = memory_resize(capture->bytes, size);

		if (!grown) {
			run->has_no_memory = true;
			return;
		}
		capture->bytes = grown;
		capture->size = size;
	}
	if (length)
		memcpy(capture->bytes + capture->length, bytes, length);
	capture->length += length;
	capture->bytes[capture->length] = '\0';
}

static void libclient_run_on_output(struct yett_command *command, enum yett_stream stream,
                                    const char *bytes, size_t length, void *data)
{
	(void)command;
	libclient_run_keep(data, stream, bytes, length);
	libclient_run_keep(data, BOTH, bytes, length);
}

/* Moves the captured output to a new struct yett_output. */
static int make_output(struct run *run, const struct yett_result *result,
                       struct yett_output **ret_output, struct yett_error *error)
{
	_cleanup_(memory_freep) struct yett_output *output = memory_new(sizeof *output);
	struct yett_result *copy = memory_add(output, sizeof *copy);

	if (run->has_no_memory || !copy)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for the output");
	*copy = *result;
	*output = (struct yett_output){
		.size = sizeof *output,
		.result = copy,
		.out = run->captures[0].bytes,
		.err = run->captures[1].bytes,
		.out_length = run->captures[0].length,
		.err_length = run->captures[1].length,
		.out_truncated = run->captures[0].truncated,
		.err_truncated = run->captures[1].truncated,
		.both = run->captures[BOTH].bytes,
		.both_length = run->captures[BOTH].length,
		.both_truncated = run->captures[BOTH].truncated,
	};
	for (size_t i = 0; i < ARRAY_SIZE(run->captures); i++)
		memory_give(output, steal_ptr(&run->captures[i].bytes));
	*ret_output = steal_ptr(&output);
	return 0;
}

int yett_run(struct yett_sandbox *sandbox, const struct yett_command_options *options,
             size_t output_max, struct yett_output **ret_output, struct yett_error *error)
{
	int stdio[] = {YETT_STDIO_NULL, YETT_STDIO_STREAM, YETT_STDIO_STREAM};
	_cleanup_(run_free) struct run run = {.max = output_max};
	struct yett_command_options streamed;
	struct yett_command *command = NULL;
	const struct yett_result *result;
	int r = sized_take(&options_command, options, &streamed, error);

	if (r)
		return r;
	if (streamed.stdio)
		stdio[0] = streamed.stdio[0];
	streamed.size = sizeof streamed;
	streamed.stdio = stdio;
	streamed.on_exit = NULL;
	streamed.on_output = libclient_run_on_output;
	streamed.data = &run;
	for (size_t i = 0; i < ARRAY_SIZE(run.captures); i++)
		libclient_run_keep(&run, i, "", 0);
	r = yett_sandbox_exec(sandbox, &streamed, &command, error);
	if (r == 0)
		r = yett_command_wait(command, -1, &result, error);
	if (r == 0)
		r = make_output(&run, result, ret_output, error);
	yett_command_free(command);
	return r;
}
