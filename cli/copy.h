/*
 * What `yett run` copies into a sandbox before its command, and out of it afterwards.
 *
 * On the public libyett. What is passed over is told on stderr, an entry a line.
 */
#pragma once

#include "cli/run_options.h"

/* All of --copy-in, or all of --copy-out, in their order. 0, or the code of the first that failed; the others are tried. */
int copy_all_in(struct yett_sandbox *sandbox, const struct run_options *options, struct yett_error *error);
int copy_all_out(struct yett_sandbox *sandbox, const struct run_options *options, struct yett_error *error);
