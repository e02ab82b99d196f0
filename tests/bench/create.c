/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it takes to make sandboxes of several kinds, beside each other: create COUNT KIND...
 *
 * A KIND is PROFILE, or PROFILE+RULE, where the request allows what the rule says. Runs as an
 * ordinary user against a service. For each kind it prints a line of four medians in milliseconds:
 * to the end of a first command, and to the end of the sandbox; both in rows of the same kind, and
 * then both in turns with the others.
 */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#define COUNT_MAX 1000
#define KINDS_MAX 8
#define ROW       25 /* of one kind, before the others' turn */
#define WARM_UP   5  /* before each row, not counted */

/* How long each took. */
struct times {
	double command[COUNT_MAX], end[COUNT_MAX];
};

struct kind {
	struct yett_sandbox_options options;
	const char *allow[1];
	struct times rows, turns;
};

static struct yett_connection *connection;
static struct kind kinds[KINDS_MAX];

static void make(const struct kind *kind, double *ret_command, double *ret_end)
{
	double before = now_ms();
	struct yett_sandbox *sandbox;
	struct yett_error error = {0};

	if (yett_sandbox_create(connection, &kind->options, &sandbox, &error))
		fail("create", &error);
	exec_true(sandbox);
	*ret_command = now_ms() - before;
	if (yett_sandbox_end(sandbox, &error))
		fail("destroy", &error);
	*ret_end = now_ms() - before;
	yett_sandbox_close(sandbox);
}

static void measure_row(struct kind *kind, int from, int to)
{
	double ignored;

	for (int i = 0; i < WARM_UP; i++)
		make(kind, &ignored, &ignored);
	for (int i = from; i < to; i++)
		make(kind, &kind->rows.command[i], &kind->rows.end[i]);
}

static void read_kind(char *text, struct kind *kind)
{
	char *plus = strchr(text, '+');

	kind->options =
		(struct yett_sandbox_options){.size = sizeof kind->options, .profile = text};
	if (plus) {
		*plus = '\0';
		kind->allow[0] = plus + 1;
		kind->options.allow = kind->allow;
		kind->options.allow_count = 1;
	}
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[1]) : 0, kinds_count = argc - 2;
	struct yett_error error = {0};

	if (count < 1 || count > COUNT_MAX || kinds_count > KINDS_MAX) {
		(void)fprintf(stderr, "usage: create COUNT PROFILE[+RULE]...\n");
		return 2;
	}
	if (yett_connect(NULL, &connection, &error))
		fail("connect", &error);
	for (int k = 0; k < kinds_count; k++)
		read_kind(argv[k + 2], &kinds[k]);
	for (int from = 0, to; from < count; from = to) {
		to = count - from > ROW ? from + ROW : count;
		for (int k = 0; k < kinds_count; k++)
			measure_row(&kinds[k], from, to);
	}
	for (int i = 0; i < count; i++)
		for (int k = 0; k < kinds_count; k++)
			make(&kinds[k], &kinds[k].turns.command[i], &kinds[k].turns.end[i]);
	for (int k = 0; k < kinds_count; k++)
		(void)printf("%.4f %.4f %.4f %.4f\n", median(kinds[k].rows.command, count),
		             median(kinds[k].rows.end, count),
		             median(kinds[k].turns.command, count),
		             median(kinds[k].turns.end, count));
	yett_connection_close(connection);
	return 0;
}
