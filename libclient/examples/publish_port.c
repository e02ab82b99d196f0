/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command in a sandbox and meanwhile forwards a free port of this host to
 * port PORT of the sandbox: publish_port PORT COMMAND [ARGUMENT...]
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <yett.h>

static int serve(struct yett_sandbox *sandbox, struct yett_relay *relay,
                 struct yett_command *command, struct yett_error *error)
{
	struct pollfd fds[] = {{yett_sandbox_fd(sandbox), POLLIN, 0},
	                       {yett_relay_fd(relay), POLLIN, 0}};
	int r;

	/* The sandbox's descriptor becomes readable when the command ends. */
	while ((r = yett_command_wait(command, 0, NULL, error)) == YETT_E_TIMEOUT) {
		poll(fds, 2, -1);
		yett_relay_dispatch(relay);
	}
	return r;
}

static int run(struct yett_sandbox *sandbox, uint16_t port, const char *const *argv,
               struct yett_error *error)
{
	static const int stdio[] = {YETT_STDIO_INHERIT, YETT_STDIO_INHERIT, YETT_STDIO_INHERIT};
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .stdio = stdio};
	struct yett_command *command = NULL;
	struct yett_relay *relay;
	uint16_t chosen;
	int r = yett_relay_new(sandbox, &relay, error);

	if (r)
		return r;
	r = yett_relay_publish(relay, NULL, 0, port, &chosen, error);
	if (r == 0) {
		fprintf(stderr, "127.0.0.1:%u leads to port %u of the sandbox\n", chosen, port);
		r = yett_sandbox_exec(sandbox, &options, &command, error);
	}
	if (r == 0)
		r = serve(sandbox, relay, command, error);
	yett_command_free(command);
	yett_relay_close(relay);
	return r;
}

int main(int argc, char **argv)
{
	struct yett_connection *connection = NULL;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	int r;

	if (argc < 3)
		return 2;
	r = yett_connect(NULL, &connection, &error);
	if (r == 0)
		r = yett_sandbox_create(connection, NULL, &sandbox, &error);
	if (r == 0)
		r = run(sandbox, (uint16_t)atoi(argv[1]), (const char *const *)argv + 2, &error);
	if (r)
		fprintf(stderr, "publish_port: %s\n  %s\n", error.message, error.detail);
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return r != 0;
}
