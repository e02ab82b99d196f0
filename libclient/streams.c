/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sandbox.h: outputs that are passed to on_output. The library reads them from its own pipes
 * when the caller dispatches.
 */
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>

#include "base/failure.h"
#include "libclient/sandbox.h"

#define READ_SIZE 65536
#define READS_MAX 4 /* consecutive reads of one stream */
/*
 * Enough reads to empty any pipe, even if its writer has enlarged it. A process that still writes
 * then has outlived the command.
 */
#define LAST_READS_MAX 32

static int libclient_streams_failed(const char *what, struct yett_error *error)
{
	return failure_set(error, YETT_E_COMMAND_FAILED, "stdio", "cannot %s the command: %m",
	                   what);
}

static int make_pipe(int *ret_reader, int *ret_writer, struct yett_error *error)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return libclient_streams_failed("make the pipes of", error);
	*ret_reader = ends[0];
	*ret_writer = ends[1];
	return 0;
}

int streams_open_pipe(struct yett_command *command, int i, int *ret_end, struct yett_error *error)
{
	int reader = -1, writer = -1, r = make_pipe(&reader, &writer, error);

	if (r)
		return r;
	command->pipes[i] = i == 0 ? writer : reader;
	*ret_end = i == 0 ? reader : writer;
	return 0;
}

int yett_command_take_pipe(struct yett_command *command, int stream, int *ret_fd,
                           struct yett_error *error)
{
	if (stream < 0 || stream > 2 || command->pipes[stream] < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "stream %d of the command has no pipe, or it was taken", stream);
	*ret_fd = steal_fd(&command->pipes[stream]);
	return 0;
}

int streams_open(struct yett_sandbox *sandbox, struct yett_command *command, int i,
                 int *ret_write_end, struct yett_error *error)
{
	struct epoll_event event = {.events = EPOLLIN};
	_cleanup_fd_ int reader = -1, writer = -1;
	int r = make_pipe(&reader, &writer, error);

	if (r)
		return r;
	if (fcntl(reader, F_SETFL, O_NONBLOCK) < 0 ||
	    epoll_ctl(sandbox->events, EPOLL_CTL_ADD, reader, &event) < 0)
		return libclient_streams_failed("wait for the outputs of", error);
	command->streams[i] = steal_fd(&reader);
	*ret_write_end = steal_fd(&writer);
	return 0;
}

void streams_close(struct yett_command *command, int i)
{
	/*
	 * A child of the caller may hold the same pipe. close(2) alone would then leave it
	 * registered. epoll(7), Q6
	 */
	if (command->streams[i] >= 0 && command->sandbox)
		(void)epoll_ctl(command->sandbox->events, EPOLL_CTL_DEL, command->streams[i], NULL);
	command->streams[i] = fd_close(command->streams[i]);
}

/* Reads from one stream, at most `times` times. Closes the stream at its end. */
static void libclient_streams_read_stream(struct yett_command *command, int i, int times)
{
	char buffer[READ_SIZE];

	while (times-- > 0 && command->streams[i] >= 0) {
		ssize_t n = read(command->streams[i], buffer, sizeof buffer);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n > 0)
			command->on_output(command, (enum yett_stream)i, buffer, (size_t)n,
			                   command->data);
		else if (n == 0 || errno != EINTR)
			streams_close(command, i);
	}
}

/*
 * Returns a command that was not read in this turn. Callbacks can start and free commands, so each
 * call searches the list from its start.
 */
static struct yett_command *next_unread(const struct yett_sandbox *sandbox, uint64_t turn)
{
	for (struct yett_command *c = sandbox->commands; c; c = c->next)
		if (c->streams_turn < turn && (c->streams[0] >= 0 || c->streams[1] >= 0))
			return c;
	return NULL;
}

void streams_read(struct yett_sandbox *sandbox)
{
	uint64_t turn = ++sandbox->streams_turn;
	struct yett_command *command;

	while ((command = next_unread(sandbox, turn))) {
		command->streams_turn = turn;
		for (int i = 0; i < 2; i++)
			libclient_streams_read_stream(command, i, READS_MAX);
	}
}

void streams_finish(struct yett_command *command)
{
	for (int i = 0; i < 2; i++) {
		libclient_streams_read_stream(command, i, LAST_READS_MAX);
		streams_close(command, i);
	}
}

bool streams_are_open(const struct yett_sandbox *sandbox)
{
	return next_unread(sandbox, UINT64_MAX) != NULL;
}

void streams_wait(const struct yett_sandbox *sandbox, deadline_ms deadline)
{
	struct pollfd entry = {.fd = sandbox->events, .events = POLLIN};

	(void)poll(&entry, 1, channel_time_left(deadline));
}
