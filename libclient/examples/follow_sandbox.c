/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a sandbox, prints its events while a command runs there, and then its
 * number of processes. Usage: follow_sandbox
 */
#include <poll.h>
#include <stdio.h>
#include <yett.h>

static void print(const struct yett_event *event, void *data)
{
	printf("%s", yett_event_name(event->kind));
	if (event->kind == YETT_EVENT_EXITED) {
		printf(" with status %d", event->result->status);
		*(bool *)data = true;
	}
	printf("\n");
}

/* Any program of the same user can do this, with the id or name of the sandbox. */
static int follow(struct yett_connection *connection, struct yett_sandbox *sandbox,
                  struct yett_error *error)
{
	static const char *const argv[] = {"sh", "-c", "exit 3", NULL};
	const struct yett_command_options options = {.size = sizeof options, .argv = argv};
	const char *id = yett_sandbox_get_info(sandbox)->id;
	struct yett_events *events = NULL;
	struct yett_command *command = NULL;
	struct yett_usage *usage = NULL;
	bool over = false;
	int r;

	r = yett_sandbox_follow(connection, id, print, &over, &events, error);
	if (r == 0)
		r = yett_sandbox_exec(sandbox, &options, &command, error);
	while (r == 0 && !over) {
		struct pollfd wait = {yett_events_fd(events), POLLIN, 0};

		poll(&wait, 1, -1);
		r = yett_events_dispatch(events, error);
	}
	yett_command_free(command);
	yett_events_free(events);
	if (r == 0)
		r = yett_sandbox_usage(connection, id, &usage, error);
	if (r == 0 && (usage->known & YETT_USAGE_PROCESSES))
		printf("%llu process\n", (unsigned long long)usage->processes);
	yett_free(usage);
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
		fprintf(stderr, "follow_sandbox: %s\n  %s\n", error.message, error.detail);
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return r != 0;
}
