/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uses a sandbox from two processes: the first one makes the sandbox and starts
 * a command there; the second one attaches to both, waits for the command, and
 * ends the sandbox.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yett.h>

static void check(int r, const struct yett_error *error)
{
	if (r == 0)
		return;
	fprintf(stderr, "live_session: %s\n  %s\n", error->message, error->detail);
	exit(1);
}

int main(void)
{
	static const char *const argv[] = {
		"sh", "-c", "until [ -s in ]; do sleep 0.01; done; tr a-z A-Z <in >out", NULL};
	const struct yett_command_options background = {
		.size = sizeof background, .argv = argv, .cwd = "/tmp"};
	/* The first process closes no handle: its exit releases all of them. */
	static struct yett_connection *connection, *own;
	static struct yett_sandbox *sandbox, *attached;
	static struct yett_command *command, *found;
	struct yett_error error = {0};
	const struct yett_result *result;
	struct yett_usage *usage = NULL;
	size_t length;
	char *bytes;
	pid_t second;
	int status;

	check(yett_connect(NULL, &connection, &error), &error);
	check(yett_sandbox_create(connection, NULL, &sandbox, &error), &error);
	check(yett_sandbox_exec(sandbox, &background, &command, &error), &error);

	check(yett_file_write(sandbox, "/tmp/in", "round trip\n", 11, 0644, NULL, &error), &error);
	check(yett_file_read(sandbox, "/tmp/in", 4096, &bytes, &length, &error), &error);
	printf("in the file: %s", bytes);
	fflush(stdout);
	yett_free(bytes);

	second = fork();
	/*
	 * The exit of the first process closes its connection. This also ends the
	 * sandbox, if the second process has failed to do so.
	 */
	if (second != 0)
		return second < 0 || waitpid(second, &status, 0) != second || status != 0;

	/*
	 * The second process needs its own connection. From the first one it uses
	 * only the ids of the sandbox and of the command.
	 */
	check(yett_connect(NULL, &own, &error), &error);
	check(yett_sandbox_attach(own, yett_sandbox_get_info(sandbox)->id, &attached, &error),
	      &error);
	check(yett_command_attach(attached, yett_command_id(command), NULL, &found, &error),
	      &error);
	check(yett_command_wait(found, -1, &result, &error), &error);
	check(yett_file_read(attached, "/tmp/out", 4096, &bytes, &length, &error), &error);
	check(yett_sandbox_usage(own, yett_sandbox_get_info(attached)->id, &usage, &error), &error);
	printf("status %d, and it wrote: %sout of memory: %llu times\n", result->status, bytes,
	       (unsigned long long)usage->oom_kills);

	yett_free(bytes);
	yett_free(usage);
	yett_command_free(found);
	check(yett_sandbox_end(attached, &error), &error);
	yett_sandbox_close(attached);
	yett_connection_close(own);
	return 0;
}
