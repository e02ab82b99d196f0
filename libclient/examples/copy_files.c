/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies files into a sandbox and back: copy_files DIRECTORY COMMAND
 * [ARGUMENT…] copies the directory into a sandbox, runs the command in the
 * copy, lists the files of the copy, and copies them to DIRECTORY.new. The
 * sandbox has no access to the directory itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yett.h>

static int complain(const struct yett_error *error)
{
	fprintf(stderr, "copy_files: %s\n", error->message);
	if (error->detail[0])
		fprintf(stderr, "  %s\n", error->detail);
	return 1;
}

static int print_file(const struct yett_file_info *info, void *data)
{
	(void)data;
	printf("%s %s %llu %s\n", info->permissions, info->owner,
	       (unsigned long long)info->size_bytes, info->name);
	return 0;
}

static void print_skipped(const char *path, const char *why, void *data)
{
	(void)data;
	fprintf(stderr, "copy_files: %s: %s\n", path, why);
}

static int work(struct yett_sandbox *sandbox, const char *directory, char **argv,
                struct yett_error *error)
{
	const struct yett_copy_options copy = {.size = sizeof copy, .on_skipped = print_skipped};
	const struct yett_command_options command = {
		.size = sizeof command, .argv = (const char *const *)argv, .cwd = "/tmp/work"};
	struct yett_output *output = NULL;
	char back[4096];
	int r = yett_copy_in(sandbox, directory, "/tmp/work", &copy, NULL, error);

	if (r == 0)
		r = yett_run(sandbox, &command, 1 << 20, &output, error);
	if (r)
		return r;
	fwrite(output->out, 1, output->out_length, stdout);
	fwrite(output->err, 1, output->err_length, stderr);
	yett_free(output);
	r = yett_file_list(sandbox, "/tmp/work", 1000, print_file, NULL, error);
	snprintf(back, sizeof back, "%s.new", directory);
	return r ? r : yett_copy_out(sandbox, "/tmp/work", back, &copy, NULL, error);
}

int main(int argc, char *argv[])
{
	struct yett_connection *connection = NULL;
	struct yett_sandbox *sandbox = NULL;
	struct yett_error error = {0};
	bool created;
	int status = 0;

	if (argc < 3) {
		fprintf(stderr, "usage: copy_files DIRECTORY COMMAND [ARGUMENT...]\n");
		return 2;
	}
	if (yett_key_ensure(NULL, &created, &error) || yett_connect(NULL, &connection, &error) ||
	    yett_sandbox_create(connection, NULL, &sandbox, &error) ||
	    work(sandbox, argv[1], argv + 2, &error))
		status = complain(&error);
	if (yett_sandbox_end(sandbox, &error))
		status = complain(&error);
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return status;
}
