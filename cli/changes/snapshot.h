/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett snapshot: saves states of the changes of a copy-on-write sandbox, and goes back to one.
 *
 * Runs as the caller, on the public libyett. The helper takes part only if a sandbox works on the
 * store.
 */
#pragma once

#include "cli/options.h"

extern const struct option snapshot_options[];

/*
 * Rolls a store back to a snapshot, and deletes later snapshots. `of` is the id of the store, or
 * the id or name of a sandbox that has only one store. The store must be of the current directory
 * or of one above it. With SNAPSHOT_KILL, a sandbox that works on the store is suspended, and
 * recreated afterwards. YETT_E_INVALID_REQUEST: a sandbox works on the store and SNAPSHOT_KILL is
 * not set; or the user was asked at a terminal and did not agree. YETT_E_NOT_FOUND.
 */
enum snapshot_flag { SNAPSHOT_KILL = 1, SNAPSHOT_YES = 2 /* do not ask for confirmation */ };
_must_check_ int snapshot_go_back(const char *of, const char *name, unsigned flags,
                                  struct yett_error *error);

int snapshot_main(const struct subcommand *self, int argc, char **argv);
