/*
 * A program that shows what is long page by page: $PAGER, or less(1) where there is one.
 *
 * Runs as the caller, with the caller's environment. What is shown on a terminal goes to it through
 * the pager, so it is escaped as for the terminal itself.
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

struct pager {
	FILE *to;  /* where to print */
	pid_t pid; /* 0: there is none, and it is the standard output */
	const char *command;
};

/* Whether the standard output is a terminal that knows more than lines: $TERM is there, and not
 * "dumb". */
bool pager_is_terminal(void);

/* Starts it, if it is `wanted` and the standard output is such a terminal; without one it goes on.
 * Signals of the keyboard are then its. */
void pager_start(struct pager *pager, bool wanted);

/* Waits for it. Whether all that was printed went to it: false where it was ended before. */
bool pager_end(struct pager *pager);
