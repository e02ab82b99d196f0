/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a sandbox, and runs two commands and a file operation in it at the same
 * time, without blocking: event_loop [PROFILE]
 */
#include <poll.h>
#include <stdio.h>
#include <yett.h>

struct loop {
	struct yett_connection *connection;
	struct yett_sandbox *sandbox; /* NULL until it was made */
	int running;
};

/*
 * Waits until a descriptor is readable, but no longer than the operation
 * allows, and handles what has arrived.
 */
static int turn(struct loop *loop, const struct yett_operation *operation, struct yett_error *error)
{
	struct pollfd fds[] = {{yett_connection_fd(loop->connection), POLLIN, 0},
	                       {loop->sandbox ? yett_sandbox_fd(loop->sandbox) : -1, POLLIN, 0}};
	int r = 0;

	poll(fds, 2, operation ? yett_operation_time_left(operation) : -1);
	if (fds[0].revents)
		r = yett_connection_dispatch(loop->connection, error);
	if (r == 0 && fds[1].revents)
		r = yett_sandbox_dispatch(loop->sandbox, error);
	return r;
}

static int make_sandbox(struct loop *loop, const char *profile, struct yett_error *error)
{
	const struct yett_sandbox_options options = {.size = sizeof options, .profile = profile};
	struct yett_operation *creation;
	int r = yett_sandbox_create_begin(loop->connection, &options, &creation, error);

	if (r)
		return r;
	while (r == 0 && !yett_operation_is_over(creation))
		r = turn(loop, creation, error);
	if (r == 0)
		r = yett_operation_finish(creation, 0, error);
	loop->sandbox = yett_operation_take_sandbox(creation);
	yett_operation_free(creation);
	return r;
}

static void on_exit_of(struct yett_command *command, void *data)
{
	const struct yett_result *result;
	struct loop *loop = data;

	if (yett_command_wait(command, 0, &result, NULL) == 0)
		printf("a command ended with status %d\n", result->status);
	yett_command_free(command);
	loop->running--;
}

static int start(struct loop *loop, const char *text, struct yett_error *error)
{
	const char *const argv[] = {"sh", "-c", text, NULL};
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .on_exit = on_exit_of, .data = loop};
	struct yett_command *command;
	int r = yett_sandbox_exec(loop->sandbox, &options, &command, error);

	loop->running += r == 0;
	return r;
}

int main(int argc, char **argv)
{
	struct loop loop = {NULL, NULL, 0};
	struct yett_operation *making = NULL;
	struct yett_error error = {0};
	int r = yett_connect(NULL, &loop.connection, &error);

	if (r == 0)
		r = make_sandbox(&loop, argc > 1 ? argv[1] : NULL, &error);
	if (r == 0)
		r = start(&loop, "until [ -d /tmp/made ]; do sleep 0.1; done; exit 3", &error);
	if (r == 0)
		r = start(&loop, "exit 4", &error);
	while (r == 0 && loop.running > 1)
		r = turn(&loop, NULL, &error);
	/* The first command waits for this directory. */
	if (r == 0)
		r = yett_file_mkdir_begin(loop.sandbox, "/tmp/made", 0755, 0, &making, &error);
	while (r == 0 && (loop.running || !yett_operation_is_over(making)))
		r = turn(&loop, making, &error);
	if (r == 0)
		r = yett_operation_finish(making, 0, &error);
	if (r)
		fprintf(stderr, "event_loop: %s\n  %s\n", error.message, error.detail);
	yett_operation_free(making);
	yett_sandbox_close(loop.sandbox);
	yett_connection_close(loop.connection);
	return r != 0;
}
