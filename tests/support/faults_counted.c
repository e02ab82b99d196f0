/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other reached_step(): of a program that ends, or fails, at one of its steps, which have no
 * names but numbers.
 *
 * YETT_TEST_STEP is the number, from 1 on; YETT_TEST_ERROR, if it is there, the errno that it fails
 * with. An end here is one by SIGKILL as far as files are concerned: nothing is written or closed
 * in an orderly way.
 */
#include "base/reached.h"

#include <stdlib.h>
#include <unistd.h>

#define EXIT_KILLED 99

static unsigned long wanted, reached;
static int error;

static void __attribute__((constructor)) read_wanted(void)
{
	const char *step = getenv("YETT_TEST_STEP"), *number = getenv("YETT_TEST_ERROR");

	wanted = step ? strtoul(step, NULL, 10) : 0;
	error = number ? atoi(number) : 0;
}

int reached_step(const char *process, const char *step)
{
	(void)process;
	(void)step;
	if (++reached != wanted)
		return 0;
	if (error)
		return -error;
	_exit(EXIT_KILLED);
}
