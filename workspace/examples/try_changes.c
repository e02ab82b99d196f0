/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets a command change a directory, and leaves the directory as it is: try_changes DIR COMMAND…
 * If the command succeeds, takes a snapshot of the changes and prints the id of their store.
 * Otherwise discards the changes.
 */
#include <stdio.h>
#include <yett-workspace.h>

/* Runs the command in a new sandbox, which has ended when this returns. */
static int run(struct yett_connection *connection, const char *directory, char **argv,
               char sandbox_id[YETT_ID_SIZE], int *ret_status, struct yett_error *error)
{
	const struct yett_share share = {
		.size = sizeof share, .path = directory, .flags = YETT_SHARE_COW};
	const struct yett_sandbox_options options = {
		.size = sizeof options, .shares = &share, .shares_count = 1};
	const struct yett_command_options command = {.size = sizeof command,
	                                             .argv = (const char *const *)argv};
	struct yett_sandbox *sandbox;
	struct yett_output *output;
	int r = yett_sandbox_create(connection, &options, &sandbox, error);

	if (r)
		return r;
	(void)snprintf(sandbox_id, YETT_ID_SIZE, "%s", yett_sandbox_get_info(sandbox)->id);
	r = yett_run(sandbox, &command, 1 << 16, &output, error);
	if (r == 0) {
		*ret_status = output->result->status;
		fwrite(output->both, 1, output->both_length, stderr);
		yett_free(output);
	}
	/* Until the sandbox is gone, it uses the store. */
	if (r == 0)
		r = yett_sandbox_end(sandbox, error);
	yett_sandbox_close(sandbox);
	return r;
}

static int keep_or_discard(const char *sandbox_id, int status, struct yett_error *error)
{
	const struct yett_work *work;
	struct yett_work_list *list;
	char *snapshot;
	int r = yett_works_list(&list, error);

	if (r)
		return r;
	r = yett_work_find(list, sandbox_id, &work, error);
	if (r == 0 && status != 0) {
		r = yett_work_discard(work->id, error);
		if (r == 0)
			puts("discarded");
	} else if (r == 0) {
		r = yett_snapshot_take(work->id, NULL, &snapshot, error);
		if (r == 0) {
			printf("%s %s\n", work->id, snapshot);
			yett_workspace_free(snapshot);
		}
	}
	yett_workspace_free(list);
	return r;
}

int main(int argc, char **argv)
{
	const struct yett_connect_options options = {.size = sizeof options,
	                                             .workspace = yett_workspace()};
	struct yett_connection *connection;
	struct yett_error error = {0};
	char sandbox_id[YETT_ID_SIZE];
	int status, r;

	if (argc < 3)
		return 2;
	r = yett_connect(&options, &connection, &error);
	if (r == 0) {
		r = run(connection, argv[1], argv + 2, sandbox_id, &status, &error);
		yett_connection_close(connection);
	}
	if (r == 0)
		r = keep_or_discard(sandbox_id, status, &error);
	if (r)
		fprintf(stderr, "try_changes: %s\n  %s\n", error.message, error.mend);
	return r != 0;
}
