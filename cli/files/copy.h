/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies files into a sandbox and out of it, for --copy-in and --copy-out of `yett run`, before and
 * after its command, and for `yett cp`.
 *
 * Runs as the caller, on the public libyett. Prints every entry that is skipped on stderr, one a
 * line.
 */
#pragma once

#include "cli/run/run_options.h"

/*
 * Writes the target of a copy of `from` to `to` to out[0 … size), as cp(1) determines it: if `to`
 * is an existing directory (`is_directory`), the target is the last component of `from` in that
 * directory, unless that component is empty, "." or "..". YETT_E_INVALID_REQUEST: the path is too
 * long.
 */
int copy_target(const char *from, const char *to, bool is_directory, char *out, size_t size,
                struct yett_error *error);

/* The result of a copy, also of one that skipped entries. */
struct copied {
	char target[4096]; /* empty: the copy failed */
	struct yett_copy_result result;
};

/*
 * Makes one copy, out of the sandbox or into it. If entries were skipped, returns an error after
 * everything else is copied.
 */
int copy_one(struct yett_sandbox *sandbox, bool is_out, const struct run_copy *copy,
             struct copied *ret_copied, struct yett_error *error);

/*
 * Make all copies of --copy-in, or of --copy-out, in their order. Return 0 or the code of the first
 * copy that failed; the others are made nevertheless.
 */
int copy_all_in(struct yett_sandbox *sandbox, const struct run_options *options,
                struct yett_error *error);
int copy_all_out(struct yett_sandbox *sandbox, const struct run_options *options,
                 struct yett_error *error);
