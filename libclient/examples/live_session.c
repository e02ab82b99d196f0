/* A sandbox that two processes work in: the first makes it and starts a command
 * there; the second finds both, and ends them. */
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
	static struct yett_connection *connection, *own; /* what the first one has goes with it */
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
	if (second != 0) /* the end of the first is the end of its connection,
	                    and of the sandbox if the second has failed */
		return second < 0 || waitpid(second, &status, 0) != second || status != 0;

	check(yett_connect(NULL, &own, &error),
	      &error); /* one of its own; from the first it has the two ids */
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
