/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a command in a sandbox and prints what it wrote: run_command COMMAND
 * [ARG…] */
#include <stdio.h>
#include <yett.h>

static int complain(const struct yett_error *error)
{
	fprintf(stderr, "run_command: %s\n  %s\n", error->message, error->detail);
	return 125;
}

int main(int argc, char **argv)
{
	struct yett_error error = {0};
	struct yett_connection *connection = NULL;
	struct yett_sandbox *sandbox = NULL;
	struct yett_command_options command = {
		.size = sizeof command, .argv = (const char *const *)argv + 1, .timeout_ms = 60000};
	struct yett_output *output = NULL;
	bool created;
	int status = 125;

	if (argc < 2) {
		fprintf(stderr, "usage: run_command COMMAND [ARG…]\n");
		return 125;
	}
	if (yett_key_ensure(NULL, &created, &error) || yett_connect(NULL, &connection, &error) ||
	    yett_sandbox_create(connection, NULL, &sandbox, &error) ||
	    yett_run(sandbox, &command, 1 << 20, &output, &error)) {
		status = complain(&error);
	} else {
		fwrite(output->out, 1, output->out_length, stdout);
		fwrite(output->err, 1, output->err_length, stderr);
		status = output->result->signaled ? 128 + output->result->status
		                                  : output->result->status;
	}
	yett_free(output);
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return status;
}
