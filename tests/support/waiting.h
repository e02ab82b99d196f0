/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a test in C waits for an event: as long as the runner of the tests found by measuring
 * the machine (waiting.py), and a minute where nobody measured.
 */
#pragma once

#include <stdlib.h>

#define WAITING_LEAST_S 60

/* Milliseconds for poll(2) and the like. Never an expectation of how long something takes. */
static inline int waiting_deadline_ms(void)
{
	const char *text = getenv("YETT_TEST_DEADLINE_S");
	int seconds = text ? atoi(text) : 0;

	return 1000 * (seconds > WAITING_LEAST_S ? seconds : WAITING_LEAST_S);
}
