/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it takes to be answered: ask COUNT. On one connection, the medians in milliseconds of COUNT
 * requests for the list of one's own sandboxes, of which there is none, and of as many for the plan
 * of one, which take a whole decision. As an ordinary user, with a service.
 */
#include "measure.h"

#include <stdlib.h>

#define COUNT_MAX 10000
#define WARM_UP   20 /* not counted */

static struct yett_connection *connection;

static void ask_list(void)
{
	struct yett_sandbox_list *list;
	struct yett_error error = {0};

	if (yett_sandboxes_list(connection, 0, &list, &error))
		fail("list", &error);
	yett_free(list);
}

static void ask_plan(void)
{
	struct yett_error error = {0};
	char *text;

	if (yett_sandbox_plan(connection, NULL, &text, &error))
		fail("plan", &error);
	yett_free(text);
}

static double measure(void (*ask)(void), int count)
{
	static double times[COUNT_MAX];

	for (int i = 0; i < WARM_UP; i++)
		ask();
	for (int i = 0; i < count; i++)
		times[i] = timed(ask, 0);
	return median(times, count);
}

int main(int argc, char **argv)
{
	struct yett_error error = {0};
	int count = argc == 2 ? atoi(argv[1]) : 0;

	if (count < 1 || count > COUNT_MAX)
		return 2;
	if (yett_connect(NULL, &connection, &error))
		fail("connect", &error);
	printf("%f %f\n", measure(ask_list, count), measure(ask_plan, count));
	yett_connection_close(connection);
	return 0;
}
