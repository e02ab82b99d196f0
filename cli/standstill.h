/*
 * A sandbox that stands still while something of it is copied, as by yett pause.
 *
 * Runs as the caller. Of the caller's programs one at a time does so with a sandbox, whichever of
 * its stores is copied: else the first to be done would have it go on under the other ones. A user
 * who has it go on meanwhile is found out.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "libclient/yett.h"

struct standstill {
	struct yett_connection *connection; /* borrowed, as the id */
	const char *sandbox;
	int lock;
	bool was_paused; /* before, and goes on being so */
};

/* Waits for others that do so, and pauses it. `works` is the directory in which the caller's stores
 * are: it has the lock. */
_must_check_ int standstill_begin(struct yett_connection *connection, const char *works,
                                  const char *sandbox, struct standstill *ret_still,
                                  struct yett_error *error);

/*
 * Has it go on, unless it was paused before. *ret_is_whole, in every case: it has stood still
 * since, so that what was copied is of one moment. Else, and where it could not be made to go on,
 * `error` says so.
 */
_must_check_ int standstill_end(struct standstill *still, bool *ret_is_whole,
                                struct yett_error *error);
