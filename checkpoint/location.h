/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file of a store and checks that only the caller can access it. Runs with the caller's
 * privilege.
 *
 * Makes directories and an empty file where they are missing, but opens no database: closing any
 * descriptor of a file drops all fcntl(2) locks that the process holds on it ("Advisory record
 * locking").
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/*
 * Writes the path of the store's file, with symbolic links resolved, to ret_path. `path` NULL: the
 * default path, whose directory is made. On return the file exists, and is empty if it was missing.
 * With `must_exist`, nothing is made. Returns 0 or the codes of yett_checkpoint_store_open().
 */
_must_check_ int location_find(const char *path, bool must_exist, char ret_path[static PATH_MAX],
                               struct yett_error *error);
