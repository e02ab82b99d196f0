/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that the sources of shares are located apart from the directories in which the caller
 * keeps stores and sessions.
 *
 * Runs with the caller's privilege. The policy decides what the caller may share at all.
 */
#pragma once

#include "base/error.h"
#include "base/home.h"

/*
 * Checks, as far as the caller can, whether a directory may be the source of a copy-on-write share.
 * The directory must belong to the caller, on a file system that can be a layer of an overlay. The
 * source must not be located in the directory of stores, nor contain that directory unless the
 * changes are kept in memory (`in_memory`). In either case the source must neither be located in
 * the directory of sessions nor contain that directory. `name` names the share in the error.
 * `state` is where the caller keeps stores and sessions; if it is empty the function fills it in,
 * so that the caller's home is looked up once per request.
 */
_must_check_ int share_check_cow(char state[HOME_PATH_SIZE], int source, const char *name,
                                 bool in_memory, struct yett_error *error);

/*
 * Refuses a share that is located in the directory of stores or of sessions, and a writable share
 * that contains one of these: a sandbox could change the layers of another sandbox, or how a
 * session is restored. `name` and `state` as above.
 */
_must_check_ int share_check(char state[HOME_PATH_SIZE], int fd, bool is_written, const char *name,
                             struct yett_error *error);
