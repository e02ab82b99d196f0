/* yett_run(): a command from start to end with its output kept, on the functions of yett.h alone. */
#include "libclient/yett.h"

#include <string.h>

#include "base/error.h"

struct capture {
	char *bytes;
	size_t length, size;
	bool truncated;
};

struct run {
	struct capture captures[2];
	size_t max;
	bool has_no_memory;
};

static void run_free(struct run *run)
{
	for (size_t i = 0; i < ARRAY_SIZE(run->captures); i++)
		free(run->captures[i].bytes);
}

/* Keeps what fits below the bound, and one NUL. */
static void keep(struct run *run, enum yett_stream stream, const char *bytes, size_t length)
{
	struct capture *capture = &run->captures[stream];
	size_t room = run->max - capture->length;

	if (length > room) {
		length = room;
		capture->truncated = true;
	}
	if (capture->length + length + 1 > capture->size) {
		size_t size = capture->length + length + 1 + capture->length / 2;
		char *grown = realloc(capture->bytes, size);

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

static void on_output(struct yett_command *command, enum yett_stream stream, const char *bytes, size_t length, void *data)
{
	(void)command;
	keep(data, stream, bytes, length);
}

int yett_run(struct yett_sandbox *sandbox, const struct yett_command_options *options, size_t output_max,
	     struct yett_output *ret_output, struct yett_error *error)
{
	const int stdio[] = {options->stdio ? options->stdio[0] : YETT_STDIO_NULL, YETT_STDIO_STREAM, YETT_STDIO_STREAM};
	_cleanup_(run_free) struct run run = {.max = output_max};
	struct yett_command_options streamed = *options;
	struct yett_command *command = NULL;
	struct yett_result result = {0};
	int r;

	streamed.stdio = stdio;
	streamed.on_exit = NULL;
	streamed.on_output = on_output;
	streamed.data = &run;
	keep(&run, YETT_STREAM_OUT, "", 0);
	keep(&run, YETT_STREAM_ERR, "", 0);
	r = yett_sandbox_exec(sandbox, &streamed, &command, error);
	if (r == 0)
		r = yett_command_wait(command, -1, &result, error);
	yett_command_free(command);
	if (r == 0 && run.has_no_memory)
		r = error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for the output");
	if (r)
		return r;
	*ret_output = (struct yett_output){
		.result = result,
		.out = steal_ptr(&run.captures[0].bytes),
		.err = steal_ptr(&run.captures[1].bytes),
		.out_length = run.captures[0].length,
		.err_length = run.captures[1].length,
		.out_truncated = run.captures[0].truncated,
		.err_truncated = run.captures[1].truncated,
	};
	return 0;
}

void yett_output_free(struct yett_output *output)
{
	if (!output)
		return;
	free(output->out);
	free(output->err);
	*output = (struct yett_output){0};
}
