/*
 * Copies of files into a sandbox and out of it: what `yett run` makes before and after its command, and `yett cp`.
 *
 * On the public libyett. What is passed over is told on stderr, an entry a line.
 */
#pragma once

#include "cli/run_options.h"

typedef int (*copy_fn)(struct yett_sandbox *sandbox, const char *from, const char *to,
		       const struct yett_copy_options *options, struct yett_copy_result *ret_result,
		       struct yett_error *error);

/* yett_copy_in() or yett_copy_out(). What was passed over is an error of the whole, once all else is copied. */
int copy_one(struct yett_sandbox *sandbox, copy_fn copy, const char *from, const char *to, struct yett_error *error);

/* All of --copy-in, or all of --copy-out, in their order. 0, or the code of the first that failed; the others are tried. */
int copy_all_in(struct yett_sandbox *sandbox, const struct run_options *options, struct yett_error *error);
int copy_all_out(struct yett_sandbox *sandbox, const struct run_options *options, struct yett_error *error);
