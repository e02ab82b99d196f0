/* yett_run(): a command from start to end with its output kept, on the functions of yett.h alone. */
#include "libclient/yett.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include "base/error.h"

#define READ_SIZE	 65536
#define DRAIN_TIMEOUT_MS 1000

struct capture {
	int fd; /* our end; -1 at end of file */
	char *bytes;
	size_t length, size;
	bool truncated;
};

static void capture_free(struct capture *capture)
{
	fd_close(capture->fd);
	free(capture->bytes);
}

/* Keeps what fits below `max` and one NUL. -ENOMEM. */
static int keep(struct capture *capture, const char *bytes, size_t length, size_t max)
{
	size_t room = max - capture->length, size = capture->size;
	char *grown;

	if (length > room) {
		length = room;
		capture->truncated = true;
	}
	if (capture->length + length + 1 > size) {
		size = capture->length + length + 1 + capture->length / 2;
		grown = realloc(capture->bytes, size);
		if (!grown)
			return -ENOMEM;
		capture->bytes = grown;
		capture->size = size;
	}
	memcpy(capture->bytes + capture->length, bytes, length);
	capture->length += length;
	capture->bytes[capture->length] = '\0';
	return 0;
}

static int read_some(struct capture *capture, size_t max)
{
	char buffer[READ_SIZE];
	ssize_t n = read(capture->fd, buffer, sizeof buffer);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n > 0)
		return keep(capture, buffer, (size_t)n, max);
	capture->fd = fd_close(capture->fd);
	return 0;
}

/*
 * Reads both outputs and what init sends until the command is over and they are at their end. A process that outlived
 * the command may hold them open: then what is there is read, and no more waited for.
 */
static int collect(struct yett_sandbox *sandbox, struct yett_command *command, struct capture captures[2], size_t max,
		   struct yett_result *ret_result, struct yett_error *error)
{
	struct yett_error why = {0};
	struct pollfd entries[3];
	int r = YETT_E_TIMEOUT, n;

	for (;;) {
		if (r == YETT_E_TIMEOUT)
			r = yett_command_wait(command, 0, ret_result, &why);
		if (r != 0 && r != YETT_E_TIMEOUT) {
			if (error)
				*error = why;
			return r;
		}
		if (r == 0 && captures[0].fd < 0 && captures[1].fd < 0)
			return 0;
		entries[0] = (struct pollfd){.fd = captures[0].fd, .events = POLLIN};
		entries[1] = (struct pollfd){.fd = captures[1].fd, .events = POLLIN};
		entries[2] = (struct pollfd){.fd = r == 0 ? -1 : yett_sandbox_fd(sandbox), .events = POLLIN};
		n = poll(entries, 3, r == 0 ? DRAIN_TIMEOUT_MS : -1);
		if (n == 0)
			return 0;
		for (int i = 0; n > 0 && i < 2; i++)
			if (entries[i].revents && read_some(&captures[i], max) < 0)
				return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
						 "no memory for the output");
	}
}

static int start(struct yett_sandbox *sandbox, const struct yett_command_options *options, struct capture captures[2],
		 struct yett_command **ret_command, struct yett_error *error)
{
	struct yett_command_options with_pipes = *options;
	_cleanup_fd_ int out = -1, err = -1;
	int pair[2], stdio[3];

	for (int i = 0; i < 2; i++) {
		if (pipe2(pair, O_CLOEXEC) < 0)
			return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot make a pipe: %m");
		captures[i].fd = pair[0];
		*(i == 0 ? &out : &err) = pair[1];
		if (keep(&captures[i], "", 0, 0) < 0)
			return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "no memory for the output");
	}
	stdio[0] = options->stdio ? options->stdio[0] : YETT_STDIO_NULL;
	stdio[1] = out;
	stdio[2] = err;
	with_pipes.stdio = stdio;
	with_pipes.on_exit = NULL;
	return yett_sandbox_exec(sandbox, &with_pipes, ret_command, error);
}

int yett_run(struct yett_sandbox *sandbox, const struct yett_command_options *options, size_t output_max,
	     struct yett_output *ret_output, struct yett_error *error)
{
	struct capture captures[2] = {{.fd = -1}, {.fd = -1}};
	struct yett_command *command = NULL;
	struct yett_result result = {0};
	int r = start(sandbox, options, captures, &command, error);

	if (r == 0)
		r = collect(sandbox, command, captures, output_max, &result, error);
	yett_command_free(command);
	if (r == 0)
		*ret_output = (struct yett_output){
			.result = result,
			.out = steal_ptr(&captures[0].bytes),
			.err = steal_ptr(&captures[1].bytes),
			.out_length = captures[0].length,
			.err_length = captures[1].length,
			.out_truncated = captures[0].truncated,
			.err_truncated = captures[1].truncated,
		};
	capture_free(&captures[0]);
	capture_free(&captures[1]);
	return r;
}

void yett_output_free(struct yett_output *output)
{
	if (!output)
		return;
	free(output->out);
	free(output->err);
	*output = (struct yett_output){0};
}
