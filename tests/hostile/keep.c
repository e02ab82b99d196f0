/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that keeps its connection: it asks what it reads, a line each, and says "ok", or the
 * code and message of the refusal. The sandbox that it made or attached to last is the one that
 * "exec" uses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <yett.h>

static struct yett_connection *connection;
static struct yett_sandbox *sandbox;
static struct yett_error error;

static int create(const char *profile)
{
	const struct yett_sandbox_options options = {.size = sizeof options,
	                                             .profile = *profile ? profile : NULL};

	return yett_sandbox_create(connection, &options, &sandbox, &error);
}

static int plan(const char *profile)
{
	const struct yett_sandbox_options options = {.size = sizeof options,
	                                             .profile = *profile ? profile : NULL};
	char *text = NULL;
	int r = yett_sandbox_plan(connection, &options, &text, &error);

	yett_free(text);
	return r;
}

static int attach(const char *id)
{
	return yett_sandbox_attach(connection, id, &sandbox, &error);
}

static int list(const char *unused)
{
	struct yett_sandbox_list *all = NULL;
	int r = yett_sandboxes_list(connection, 0, &all, &error);

	(void)unused;
	yett_free(all);
	return r;
}

static int inspect(const char *id)
{
	struct yett_sandbox_status *status = NULL;
	int r = yett_sandbox_inspect(connection, id, &status, &error);

	yett_free(status);
	return r;
}

static int usage(const char *id)
{
	struct yett_usage *use = NULL;
	int r = yett_sandbox_usage(connection, id, &use, &error);

	yett_free(use);
	return r;
}

static void ignore(const struct yett_event *event, void *data)
{
	(void)data, (void)event;
}

static int follow(const char *id)
{
	struct yett_events *events = NULL;
	int r = yett_sandbox_follow(connection, id, ignore, NULL, &events, &error);

	yett_events_free(events);
	return r;
}

static int pause_it(const char *id)
{
	return yett_sandbox_pause(connection, id, &error);
}

static int resume(const char *id)
{
	return yett_sandbox_resume(connection, id, &error);
}

static int end(const char *id)
{
	return yett_sandbox_end_by_id(connection, id, &error);
}

static int exec(const char *unused)
{
	static const char *const argv[] = {"true", NULL};
	const struct yett_command_options command = {.size = sizeof command, .argv = argv};
	struct yett_output *output = NULL;

	int r = yett_run(sandbox, &command, 4096, &output, &error);

	(void)unused;
	if (r == 0)
		yett_free(output);
	return r;
}

/* The client's end of the sandbox's channel, which the library does not give away. */
static int channel(void)
{
	int type = 0, fd = 3;
	socklen_t size = sizeof type;

	while (fd < 64 &&
	       (fd == yett_connection_fd(connection) ||
	        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET))
		fd++;
	return fd;
}

/* A command that holds the client's ends of the connection and of the channel. */
static int hold(const char *unused)
{
	static const char *const argv[] = {"sleep", "1000", NULL};
	const int stdio[] = {yett_connection_fd(connection), channel(), YETT_STDIO_NULL};
	const struct yett_command_options command = {
		.size = sizeof command, .argv = argv, .stdio = stdio};
	struct yett_command *started;
	int r = yett_sandbox_exec(sandbox, &command, &started, &error);

	(void)unused;
	return r ? r : yett_command_id(started) == 0;
}

static const struct {
	const char *name;
	int (*ask)(const char *operand);
} asks[] = {
	{"create", create},   {"plan", plan},   {"attach", attach}, {"list", list},
	{"inspect", inspect}, {"usage", usage}, {"follow", follow}, {"pause", pause_it},
	{"resume", resume},   {"end", end},     {"exec", exec},     {"hold", hold},
};

int main(void)
{
	char line[256];

	if (yett_connect(NULL, &connection, &error)) {
		(void)fprintf(stderr, "keep: %s\n", error.message);
		return 1;
	}
	while (fgets(line, sizeof line, stdin)) {
		char *operand = line + strcspn(line, " \n");
		int r = -1;

		operand[strcspn(operand, "\n")] = '\0';
		if (*operand)
			*operand++ = '\0';
		for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++)
			if (strcmp(asks[i].name, line) == 0)
				r = asks[i].ask(operand);
		if (r == 0)
			(void)puts("ok");
		else
			(void)printf("%d %s\n", r, r < 0 ? "no such thing" : error.message);
		(void)fflush(stdout);
	}
	yett_connection_close(connection);
	return 0;
}
