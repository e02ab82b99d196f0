/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows long output in a pager: $PAGER, or less(1) if $PAGER is not set.
 *
 * Runs as the caller, with the caller's environment. The pager passes output on to a terminal, so
 * escape the output as for a terminal.
 */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

struct pager {
	FILE *to;  /* where to print */
	pid_t pid; /* 0: no pager; `to` is stdout */
	const char *command;
};

/*
 * Whether stdout is a terminal that supports more than plain lines: $TERM is set and is not "dumb".
 */
bool pager_is_terminal(void);

/*
 * Starts the pager if `wanted` and stdout is such a terminal. Without a pager, output goes to
 * stdout. While a pager runs, this process ignores SIGINT, SIGQUIT and SIGPIPE.
 */
void pager_start(struct pager *pager, bool wanted);

/*
 * Waits until the pager ends. Returns whether all output was written to it; false if the pager
 * ended earlier.
 */
bool pager_end(struct pager *pager);
