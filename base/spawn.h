/*
 * Starting a program of our own beside us: with an empty environment and no signal blocked or
 * ignored.
 *
 * With the privilege of the caller; the program is the caller's to vouch for. posix_spawn(3).
 */
#pragma once

#include "base/fd.h"

#include <sys/types.h>

/*
 * Executes `path` with `input` as descriptor 0 and the `count` descriptors of `fds` under their own
 * numbers; others pass on only as far as they are not close-on-exec. 0 or -errno.
 */
_must_check_ int spawn(const char *path, char *const argv[], int input, const int *fds,
                       size_t count, pid_t *ret_pid);
