/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a command that keeps running after its client has exited, and collects
 * its result from another client:
 * collect_output start NAME; collect_output get NAME ID
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yett.h>

static int start(struct yett_connection *connection, const char *name, struct yett_error *error)
{
	static const char *const argv[] = {"sh", "-c", "pwd; exit 3", NULL};
	static const int stdio[] = {YETT_STDIO_NULL, YETT_STDIO_CAPTURE, YETT_STDIO_AS_OUTPUT};
	const struct yett_sandbox_options keep = {
		.size = sizeof keep, .name = name, .flags = YETT_SANDBOX_LINGER};
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .stdio = stdio, .capture_bytes = 65536};
	struct yett_sandbox *sandbox = NULL;
	struct yett_command *command = NULL;
	struct yett_command_list *list = NULL;
	const struct yett_command_status *last;
	int r = yett_sandbox_create(connection, &keep, &sandbox, error);

	if (r == 0)
		r = yett_session_change(sandbox, "/tmp", NULL, NULL, error);
	if (r == 0)
		r = yett_sandbox_exec(sandbox, &options, &command, error);
	/* The sandbox answers in order: the command has started when the list comes. */
	if (r == 0)
		r = yett_commands_list(sandbox, &list, error);
	if (r == 0) {
		last = yett_command_list_get(list, yett_command_list_count(list) - 1);
		printf("%llu\n", (unsigned long long)last->id);
	}
	yett_free(list);
	yett_command_free(command);
	yett_sandbox_close(sandbox);
	return r;
}

static int get(struct yett_connection *connection, const char *name, uint64_t id,
               struct yett_error *error)
{
	struct yett_sandbox *sandbox = NULL;
	struct yett_command *command = NULL;
	struct yett_captured *kept = NULL;
	const struct yett_result *result;
	int r = yett_sandbox_attach(connection, name, &sandbox, error);

	if (r == 0)
		r = yett_command_attach(sandbox, id, NULL, &command, error);
	if (r == 0)
		r = yett_command_wait(command, -1, &result, error);
	if (r == 0)
		r = yett_command_output(sandbox, id, YETT_STREAM_OUT, &kept, error);
	if (r == 0)
		printf("status %d\n%s", result->status, kept->bytes);
	yett_free(kept);
	yett_command_free(command);
	yett_sandbox_end(sandbox, NULL);
	yett_sandbox_close(sandbox);
	return r;
}

int main(int argc, char **argv)
{
	struct yett_connection *connection = NULL;
	struct yett_error error = {0};
	int r = yett_connect(NULL, &connection, &error);

	if (r == 0 && argc == 3 && strcmp(argv[1], "start") == 0)
		r = start(connection, argv[2], &error);
	else if (r == 0 && argc == 4)
		r = get(connection, argv[2], strtoull(argv[3], NULL, 10), &error);
	if (r)
		fprintf(stderr, "collect_output: %s\n  %s\n", error.message, error.detail);
	yett_connection_close(connection);
	return r != 0;
}
