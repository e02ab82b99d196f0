/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds idle sandboxes, for many.py and idle_memory.py to look at the machine meanwhile.
 *
 * hold COUNT: each on a connection of its own and after a first command, "held", until standard
 * input ends. steps N…: all on one connection; for each N the time that creating the Nth takes,
 * "held N MS", until a line is read. Then each is destroyed, "destroyed MS".
 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SANDBOXES_MAX 4096
#define TRIES         51

static struct yett_sandbox *sandboxes[SANDBOXES_MAX];

static struct yett_connection *connect_here(void)
{
	struct yett_error error = {0};
	struct yett_connection *connection;

	if (yett_connect(NULL, &connection, &error))
		fail("connect", &error);
	return connection;
}

static struct yett_sandbox *create(struct yett_connection *connection)
{
	struct yett_error error = {0};
	struct yett_sandbox *sandbox;

	if (yett_sandbox_create(connection, NULL, &sandbox, &error))
		fail("create", &error);
	return sandbox;
}

static void destroy(struct yett_sandbox *sandbox)
{
	struct yett_error error = {0};

	if (yett_sandbox_end(sandbox, &error))
		fail("destroy", &error);
	yett_sandbox_close(sandbox);
}

static int hold(int count)
{
	char byte;

	for (int i = 0; i < count; i++)
		exec_true(create(connect_here()));
	printf("held\n");
	fflush(stdout);
	return read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 1; /* the process's end closes them all */
}

/* With so many others there, the one more; made and destroyed in turn, so that each finds the
 * helper in the same state. */
static double time_of_next(struct yett_connection *connection)
{
	double times[TRIES];

	for (int i = 0; i < TRIES; i++) {
		double before = now_ms();
		struct yett_sandbox *sandbox = create(connection);

		times[i] = now_ms() - before;
		destroy(sandbox);
	}
	return median(times, TRIES);
}

static int hold_steps(int count, char **steps)
{
	struct yett_connection *connection = connect_here();
	int held = 0;
	double before;
	char line[64];

	for (int i = 0; i < count; i++) {
		double next_ms;
		int wanted = atoi(steps[i]);

		if (wanted > SANDBOXES_MAX)
			fail(steps[i], NULL);
		while (held < wanted - 1)
			sandboxes[held++] = create(connection);
		next_ms = time_of_next(connection);
		while (held < wanted)
			sandboxes[held++] = create(connection);
		printf("held %d %.4f\n", held, next_ms);
		fflush(stdout);
		if (!fgets(line, sizeof line, stdin))
			return 1;
	}
	before = now_ms();
	while (held > 0)
		destroy(sandboxes[--held]);
	printf("destroyed %.4f\n", now_ms() - before);
	yett_connection_close(connection);
	return 0;
}

int main(int argc, char **argv)
{
	struct rlimit files;
	struct yett_error error = {0};
	bool created;

	if (argc < 3) {
		fprintf(stderr, "usage: many hold COUNT | many steps N...\n");
		return 2;
	}
	/* a channel each */
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (yett_key_ensure(NULL, &created, &error))
		fail("key", &error);
	return strcmp(argv[1], "hold") == 0 ? hold(atoi(argv[2])) : hold_steps(argc - 2, argv + 2);
}
