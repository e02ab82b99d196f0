/*
 * Copies of files into a sandbox and out of it: what `yett run` makes before and after its command,
 * and `yett cp`.
 *
 * On the public libyett. What is passed over is told on stderr, an entry a line.
 */
#pragma once

#include "cli/run_options.h"

/*
 * Where a copy of `from` to `to` goes, in out[0 … size): as cp(1) has it, into a directory that is
 * there under the last name of the source, if it has one that is not "." or "..".
 * YETT_E_INVALID_REQUEST: it is too long.
 */
int copy_target(const char *from, const char *to, bool is_directory, char *out, size_t size,
                struct yett_error *error);

/* What became of a copy: also of one that passed over something. */
struct copied {
	char target[4096]; /* empty: nothing was copied */
	struct yett_copy_result result;
};

/* One copy, out of the sandbox or into it. What was passed over is an error of the whole, once all
 * else is copied. */
int copy_one(struct yett_sandbox *sandbox, bool is_out, const struct run_copy *copy,
             struct copied *ret_copied, struct yett_error *error);

/* All of --copy-in, or all of --copy-out, in their order. 0, or the code of the first that failed;
 * the others are tried. */
int copy_all_in(struct yett_sandbox *sandbox, const struct run_options *options,
                struct yett_error *error);
int copy_all_out(struct yett_sandbox *sandbox, const struct run_options *options,
                 struct yett_error *error);
