/* SPDX-License-Identifier: Apache-2.0 */
/* The standard input of running commands: a non-blocking pipe. See execution.h. */
#include <fcntl.h>
#include <string.h>

#include "agent/execution_parts.h"

#define WAITING_MAX (4u << 20) /* bytes that the command has not read yet */

struct execution_input {
	int fd;
	sd_event_source *source;
	char *bytes;
	size_t length, room;
	bool is_last;
};

void execution_input_close(struct execution *execution)
{
	struct execution_input *input = execution->input;

	if (!input)
		return;
	execution->input = NULL;
	execution->asked_bytes -=
		input->room < execution->asked_bytes ? input->room : execution->asked_bytes;
	(void)sd_event_source_disable_unref(input->source);
	fd_close(input->fd);
	free(input->bytes);
	free(input);
}

/* Returns false if the reader is gone, or all input was written and `is_last` is set. */
static bool execution_input_write_some(struct execution_input *input)
{
	ssize_t n = 0;

	while (input->length > 0) {
		n = write(input->fd, input->bytes, input->length);
		if (n < 0)
			break;
		input->length -= (size_t)n;
		memmove(input->bytes, input->bytes + n, input->length);
	}
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		return false;
	return input->length > 0 || !input->is_last;
}

static int execution_input_on_writable(sd_event_source *source, int fd, uint32_t events, void *data)
{
	struct execution *execution = data;

	(void)fd;
	(void)events;
	if (!execution_input_write_some(execution->input))
		execution_input_close(execution);
	else if (execution->input->length == 0)
		(void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

int execution_input_open(struct execution *execution, struct yett_error *error)
{
	struct execution_input *input = calloc(1, sizeof *input);
	int r;

	if (!input)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for what a command reads");
	input->fd = -1;
	execution->input = input;
	r = yett_command_take_pipe(execution->command, 0, &input->fd, error);
	if (r != 0)
		return r;
	if (fcntl(input->fd, F_SETFL, O_NONBLOCK) < 0 ||
	    sd_event_add_io(execution->agent->loop, &input->source, input->fd, EPOLLOUT,
	                    execution_input_on_writable, execution) < 0 ||
	    sd_event_source_set_enabled(input->source, SD_EVENT_OFF) < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "no memory for what a command reads");
	return 0;
}

int execution_input(struct execution *execution, const char *bytes, size_t length, bool is_last,
                    struct yett_error *error)
{
	struct execution_input *input = execution->input;
	char *more;

	if (!input || input->is_last)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"execution %s takes no more input: keep_input was not set, the execution has ended, or its input was closed",
			execution->id);
	if (input->length + length > WAITING_MAX)
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "execution %s has not read %zu bytes of earlier input",
		                 execution->id, input->length);
	if (input->length + length > input->room) {
		int r = execution_keep(execution, input->length + length - input->room, error);

		if (r != 0)
			return r;
		more = realloc(input->bytes, input->length + length);
		if (!more)
			return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
			                 "no memory for what a command reads");
		input->bytes = more;
		input->room = input->length + length;
	}
	if (length > 0) /* else `bytes` may be NULL */
		memcpy(input->bytes + input->length, bytes, length);
	input->length += length;
	input->is_last = is_last;
	if (!execution_input_write_some(input))
		execution_input_close(execution);
	else if (input->length > 0 && sd_event_source_set_enabled(input->source, SD_EVENT_ON) < 0)
		return error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
		                 "cannot poll the input pipe of the command");
	return 0;
}
