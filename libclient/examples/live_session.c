/* A sandbox that two processes work in: the first makes it, starts a command there and goes; the second finds the command. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yett.h>

static bool begin(struct yett_connection *connection, const char *name, struct yett_error *error)
{
	static const char *const argv[] = {"sh", "-c", "until [ -s in ]; do sleep 0.01; done; tr a-z A-Z <in", NULL};
	static const int stdio[] = {YETT_STDIO_NULL, YETT_STDIO_CAPTURE, YETT_STDIO_AS_OUTPUT};
	const struct yett_sandbox_options keep = {.name = name, .life.linger = true};
	const struct yett_command_options background = {.argv = argv, .cwd = "/tmp", .stdio = stdio, .capture_bytes = 4096};
	struct yett_sandbox *sandbox;
	struct yett_command *command;
	char *bytes;
	size_t length;

	if (yett_sandbox_create(connection, &keep, &sandbox, error) || yett_sandbox_exec(sandbox, &background, &command, error) ||
	    yett_file_write(sandbox, "/tmp/in", "round trip\n", 11, 0644, NULL, error) ||
	    yett_file_read(sandbox, "/tmp/in", 4096, &bytes, &length, error))
		return false;
	printf("in the file: %s", bytes);
	free(bytes);
	yett_command_free(command);
	return yett_sandbox_detach(sandbox, error) == 0; /* ends neither the sandbox nor the command */
}

static bool finish(struct yett_connection *connection, const char *name, struct yett_error *error)
{
	struct yett_sandbox *sandbox;
	struct yett_command_status *list; /* the oldest first; each operation on a file is one, too */
	struct yett_command *command;
	struct yett_captured output;
	struct yett_result result;
	struct yett_usage usage;
	size_t count;

	if (yett_sandbox_attach(connection, name, &sandbox, error) || yett_commands_list(sandbox, &list, &count, error) || count == 0 ||
	    yett_command_attach(sandbox, list[0].id, NULL, NULL, &command, error) || yett_command_wait(command, -1, &result, error) ||
	    yett_command_output(sandbox, list[0].id, YETT_STREAM_OUT, &output, error) ||
	    yett_sandbox_usage(connection, name, &usage, error))
		return false;
	printf("status %d, and it wrote: %sleft: %llu process\n", result.status, output.bytes, (unsigned long long)usage.processes);
	free(output.bytes);
	free(list);
	yett_command_free(command);
	return yett_sandbox_destroy(sandbox, error) == 0;
}

int main(void)
{
	struct yett_connection *connection = NULL;
	struct yett_error error = {0};
	char name[32];
	int status = 0;
	pid_t first;

	snprintf(name, sizeof name, "session-%d", getpid());
	first = fork();
	if (first < 0 || (first > 0 && (waitpid(first, &status, 0) != first || status != 0)))
		return 1;
	if (yett_connect(NULL, &connection, &error) ||
	    !(first == 0 ? begin(connection, name, &error) : finish(connection, name, &error))) {
		fprintf(stderr, "live_session: %s\n  %s\n", error.message, error.detail);
		return 1;
	}
	yett_connection_close(connection);
	return 0;
}
