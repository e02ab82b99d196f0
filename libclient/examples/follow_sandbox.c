/* Prints what a sandbox uses while a command works in it: follow_sandbox */
#include <stdio.h>
#include <yett.h>

static int follow(struct yett_connection *connection,
		  struct yett_sandbox *sandbox, struct yett_error *error)
{
	static const char *const argv[] = {"sh", "-c", "exit 3", NULL};
	const struct yett_command_options options = {.argv = argv};
	struct yett_command *command;
	struct yett_usage usage;
	struct yett_result result;
	int r = yett_sandbox_exec(sandbox, &options, &command, error);

	if (r)
		return r;
	r = yett_command_wait(command, -1, &result, error);
	yett_command_free(command);
	if (r == 0)
		r = yett_sandbox_usage(connection,
				       yett_sandbox_get_info(sandbox)->id,
				       &usage, error);
	if (r == 0 && (usage.known & YETT_USAGE_PROCESSES))
		printf("%llu process\n", (unsigned long long)usage.processes);
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
		r = follow(connection, sandbox, &error);
	if (r)
		fprintf(stderr, "follow_sandbox: %s\n  %s\n", error.message,
			error.detail);
	yett_sandbox_destroy(sandbox, NULL);
	yett_connection_close(connection);
	return r != 0;
}
