/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Freezes a sandbox, as yett pause does, while one of its stores is copied.
 *
 * Runs as the caller. A lock lets only one of the caller's programs do this to a sandbox at a time,
 * whichever store they copy. Otherwise the first to finish would thaw the sandbox under the others.
 * If the user thaws the sandbox meanwhile, freeze_end() detects that.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "libclient/yett.h"

struct freeze {
	struct yett_connection *connection; /* borrowed, as is the id */
	const char *sandbox;
	int lock;
	bool was_paused; /* paused before, and stays paused */
};

/*
 * Waits for other programs that hold the lock, and freezes the sandbox. `works` is the directory
 * with the caller's stores, which contains the lock file.
 */
_must_check_ int freeze_begin(struct yett_connection *connection, const char *works,
                              const char *sandbox, struct freeze *ret_still,
                              struct yett_error *error);

/*
 * Thaws the sandbox, unless it was paused before. Always sets *ret_is_whole: whether the sandbox
 * was frozen all the time, so that the copy is consistent. Fails with an error if not, or if the
 * sandbox could not be thawed.
 */
_must_check_ int freeze_end(struct freeze *still, bool *ret_is_whole, struct yett_error *error);
