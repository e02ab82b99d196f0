/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares a directory read-only and lists it from inside: share_directory DIR
 * Prints only the plan of the sandbox, that is, the steps by which the helper
 * would make it: share_directory --plan DIR
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yett.h>

static int list(struct yett_connection *connection, const struct yett_sandbox_options *options,
                struct yett_error *error)
{
	static const char *const argv[] = {"ls", "/srv/data", NULL};
	const struct yett_command_options command = {
		.size = sizeof command, .argv = argv, .timeout_ms = 10000};
	const struct yett_sandbox_info *info;
	struct yett_sandbox *sandbox;
	struct yett_output *output = NULL;
	int r = yett_sandbox_create(connection, options, &sandbox, error);

	if (r)
		return r;
	info = yett_sandbox_get_info(sandbox);
	fprintf(stderr, "at most %llu MiB\n", (unsigned long long)info->memory_bytes >> 20);
	r = yett_run(sandbox, &command, 1 << 16, &output, error);
	if (r == 0) {
		fwrite(output->out, 1, output->out_length, stdout);
		yett_free(output);
	}
	yett_sandbox_close(sandbox);
	return r;
}

int main(int argc, char **argv)
{
	struct yett_share share = {.size = sizeof share,
	                           .path = argc > 1 ? argv[argc - 1] : NULL,
	                           .target = "/srv/data"};
	const struct yett_sandbox_options options = {.size = sizeof options,
	                                             .shares = &share,
	                                             .shares_count = 1,
	                                             .memory_bytes = 64 << 20,
	                                             .pids = 16};
	struct yett_connection *connection;
	struct yett_error error = {0};
	char *plan;
	int r;

	if (argc < 2)
		return 2;
	r = yett_connect(NULL, &connection, &error);
	if (r == 0 && strcmp(argv[1], "--plan") == 0) {
		r = yett_sandbox_plan(connection, &options, &plan, &error);
		if (r == 0) {
			fputs(plan, stdout);
			yett_free(plan);
		}
		yett_connection_close(connection);
	} else if (r == 0) {
		r = list(connection, &options, &error);
		yett_connection_close(connection);
	}
	if (r)
		fprintf(stderr, "share_directory: %s\n  %s\n", error.message, error.detail);
	return r != 0;
}
