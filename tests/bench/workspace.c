/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copy-on-write sandboxes over a tree of 100,000 files: what making one takes beside one without
 * shares, one over an empty directory and one with the same tree as a writable share; and how soon
 * its end is told after all files were looked at in it, beside the last of these.
 *
 * Runs as an ordinary user against a service, in a directory of that user's.
 */
#include "measure.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yett-workspace.h>

#define ROUNDS      40
#define WALKS       7
#define KINDS       4
#define DIRECTORIES 1000
#define FILES       100 /* in each */

static struct yett_connection *connection;
static char tree[4096], nothing[4096];

static void make_tree(void)
{
	char path[64];

	if (mkdir("tree", 0755) < 0)
		fail("tree", NULL);
	for (int i = 0; i < DIRECTORIES; i++) {
		(void)snprintf(path, sizeof path, "tree/%d", i);
		if (mkdir(path, 0755) < 0)
			fail(path, NULL);
		for (int j = 0; j < FILES; j++) {
			(void)snprintf(path, sizeof path, "tree/%d/%d", i, j);
			if (mknod(path, S_IFREG | 0644, 0) < 0)
				fail(path, NULL);
		}
	}
}

static struct yett_sandbox *create(const struct yett_share *share, double *ret_ms)
{
	const struct yett_sandbox_options options = {
		.size = sizeof options, .shares = share, .shares_count = share ? 1 : 0};
	struct yett_sandbox *sandbox;
	struct yett_error error = {0};
	double before = now_ms();

	if (yett_sandbox_create(connection, &options, &sandbox, &error))
		fail("create", &error);
	*ret_ms = now_ms() - before;
	return sandbox;
}

static void walk(struct yett_sandbox *sandbox)
{
	const char *const argv[] = {"find", tree, "-size", "+1", NULL};
	struct yett_command_options options = {.size = sizeof options, .argv = argv};
	const struct yett_result *result = NULL;
	struct yett_command *command;
	struct yett_error error = {0};

	if (yett_sandbox_exec(sandbox, &options, &command, &error) ||
	    yett_command_wait(command, -1, &result, &error) || result->status)
		fail("find", &error);
	yett_command_free(command);
}

static double end(struct yett_sandbox *sandbox)
{
	struct yett_error error = {0};
	double before = now_ms(), took;

	if (yett_sandbox_end(sandbox, &error))
		fail("end", &error);
	took = now_ms() - before;
	yett_sandbox_close(sandbox);
	return took;
}

static void discard_all(void)
{
	struct yett_work_list *list;
	struct yett_error error = {0};

	if (yett_works_list(&list, &error))
		fail("list", &error);
	for (size_t i = 0; i < yett_work_list_count(list); i++)
		if (yett_work_discard(yett_work_list_get(list, i)->id, &error))
			fail("discard", &error);
	yett_workspace_free(list);
}

int main(int argc, char **argv)
{
	struct yett_share cow = {.size = sizeof cow, .path = tree, .flags = YETT_SHARE_COW};
	struct yett_share writable = {
		.size = sizeof writable, .path = tree, .flags = YETT_SHARE_WRITABLE};
	struct yett_share empty = {.size = sizeof empty, .path = nothing, .flags = YETT_SHARE_COW};
	const struct yett_connect_options options = {.size = sizeof options,
	                                             .workspace = yett_workspace()};
	struct {
		const struct yett_share *share;
		const char *name;
		double wanted, made[ROUNDS];
	} kinds[KINDS] = {{.share = &cow},
	                  {.name = "no shares", .wanted = 1.3},
	                  {.share = &empty, .name = "over nothing", .wanted = 1.3},
	                  {.share = &writable, .name = "--rw"}};
	double ended[2][WALKS], ignored;
	struct yett_error error = {0};
	bool created;
	FILE *json;

	if (argc != 3) {
		fprintf(stderr, "usage: workspace JSON-LINES DIRECTORY\n");
		return 2;
	}
	json = fopen(argv[1], "ae");
	if (!json || chdir(argv[2]) < 0 || !realpath(".", tree) ||
	    setenv("XDG_STATE_HOME", tree, 1) < 0)
		fail(argv[2], NULL);
	(void)snprintf(nothing, sizeof nothing, "%.4000s/nothing", tree);
	if (mkdir(nothing, 0755) < 0)
		fail(nothing, NULL);
	(void)strncat(tree, "/tree", sizeof tree - strlen(tree) - 1);
	make_tree();
	if (yett_key_ensure(NULL, &created, &error) || yett_connect(&options, &connection, &error))
		fail("start", &error);
	for (int i = -5; i < ROUNDS; i++)
		for (size_t k = 0; k < KINDS; k++)
			(void)end(create(kinds[k].share, &kinds[k].made[i < 0 ? 0 : i]));
	for (size_t k = 1; k < KINDS; k++)
		report(json, "making one over 100,000 files", "copy-on-write",
		       median(kinds[0].made, ROUNDS), kinds[k].name, median(kinds[k].made, ROUNDS),
		       kinds[k].wanted);
	for (int i = 0; i < WALKS; i++) {
		struct yett_sandbox *sandbox = create(&cow, &ignored);

		walk(sandbox);
		ended[0][i] = end(sandbox);
		sandbox = create(&writable, &ignored);
		walk(sandbox);
		ended[1][i] = end(sandbox);
	}
	report(json, "end after 100,000 files (20 ms wanted)", "copy-on-write",
	       median(ended[0], WALKS), "--rw", median(ended[1], WALKS), 0);
	discard_all();
	fclose(json);
	yett_connection_close(connection);
	return 0;
}
