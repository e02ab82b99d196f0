/* Runs two commands at once in one sandbox, without blocking: event_loop */
#include <poll.h>
#include <stdio.h>
#include <yett.h>

static void on_exit_of(struct yett_command *command, void *data)
{
	const struct yett_result *result;
	int *running = data;

	if (yett_command_wait(command, 0, &result, NULL) == 0)
		printf("a command ended with status %d\n", result->status);
	yett_command_free(command);
	--*running;
}

static int start(struct yett_sandbox *sandbox, const char *text, int *running,
		 struct yett_error *error)
{
	const char *const argv[] = {"sh", "-c", text, NULL};
	const struct yett_command_options options = {.size = sizeof options,
						     .argv = argv,
						     .on_exit = on_exit_of,
						     .data = running};
	struct yett_command *command;
	int r = yett_sandbox_exec(sandbox, &options, &command, error);

	*running += r == 0;
	return r;
}

int main(void)
{
	struct yett_connection *connection = NULL;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	int running = 0, r = yett_connect(NULL, &connection, &error);

	if (r == 0)
		r = yett_sandbox_create(connection, NULL, &sandbox, &error);
	if (r == 0)
		r = start(sandbox, "sleep 0.2; exit 3", &running, &error);
	if (r == 0)
		r = start(sandbox, "exit 4", &running, &error);
	while (r == 0 && running > 0) {
		struct pollfd fds[] = {
		    {yett_connection_fd(connection), POLLIN, 0},
		    {yett_sandbox_fd(sandbox), POLLIN, 0}};

		poll(fds, 2, -1);
		if (fds[0].revents)
			r = yett_connection_dispatch(connection, &error);
		if (r == 0 && fds[1].revents)
			r = yett_sandbox_dispatch(sandbox, &error);
	}
	if (r)
		fprintf(stderr, "event_loop: %s\n  %s\n", error.message,
			error.detail);
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return r != 0;
}
