/*
 * Where the file of a store is, and that it is the caller's alone.
 *
 * With the caller's privilege. Makes directories and an empty file where they are missing, and
 * opens no file: a descriptor of a database that is closed takes the locks of all others in the
 * process with it (fcntl(2), "Advisory record locking").
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

/*
 * The file of a store, without links in its path, in ret_path. `path` NULL: the default, whose
 * directory is made. It is there when this returns, empty if it was not before, unless
 * `must_exist`. Codes as for yett_checkpoint_store_open().
 */
_must_check_ int location_find(const char *path, bool must_exist, char ret_path[static PATH_MAX],
                               struct yett_error *error);
