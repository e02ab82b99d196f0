/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a command whose output this program reads from a pipe, and stops the
 * command with a signal once it has printed "ready": stop_command
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <yett.h>

static int stop(struct yett_sandbox *sandbox, struct yett_error *error)
{
	static const char *const argv[] = {"sh", "-c", "echo ready; sleep 60", NULL};
	static const int stdio[] = {YETT_STDIO_NULL, YETT_STDIO_PIPE, YETT_STDIO_NULL};
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .stdio = stdio, .timeout_ms = 30000};
	struct yett_command *command;
	const struct yett_result *result;
	char text[16];
	ssize_t n;
	int out, r;

	r = yett_sandbox_exec(sandbox, &options, &command, error);
	if (r == 0)
		r = yett_command_take_pipe(command, 1, &out, error);
	if (r)
		return r;
	n = read(out, text, sizeof text);
	close(out);
	printf("it said %.*s", (int)n, text);
	r = yett_command_signal(command, SIGTERM, error);
	if (r == 0)
		r = yett_command_wait(command, 5000, &result, error);
	if (r == 0)
		printf("ended by %s %d\n", result->signaled ? "signal" : "status", result->status);
	yett_command_free(command);
	return r;
}

int main(void)
{
	struct yett_connection *connection = NULL;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	int r = yett_connect(NULL, &connection, &error);

	if (r == 0)
		r = yett_sandbox_create(connection, NULL, &sandbox, &error);
	if (r == 0)
		r = stop(sandbox, &error);
	if (r)
		fprintf(stderr, "stop_command: %s\n  %s\n", error.message, error.detail);
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return r != 0;
}
