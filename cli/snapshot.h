/*
 * yett snapshot: states of what a copy-on-write sandbox changed, to go back to. On the public
 * libyett; the helper takes part only where a sandbox works on the store.
 */
#pragma once

#include "cli/options.h"

extern const struct option snapshot_options[];

/*
 * Has a store show what it showed when a snapshot was taken, without those that came later. `of` is
 * the store's id, or the id or the name of a sandbox that has one store; it has to be of the
 * current directory, or of one that holds it. With SNAPSHOT_KILL a sandbox that works on it is
 * suspended, and made again afterwards; without, that is YETT_E_INVALID_REQUEST, and so is that who
 * was asked on a terminal did not agree. YETT_E_NOT_FOUND.
 */
enum snapshot_flag { SNAPSHOT_KILL = 1, SNAPSHOT_YES = 2 /* nobody is asked */ };
_must_check_ int snapshot_go_back(const char *of, const char *name, unsigned flags,
                                  struct yett_error *error);

int snapshot_main(const struct subcommand *self, int argc, char **argv);
