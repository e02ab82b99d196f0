/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts another program of the project as a child process, with an empty environment and with no
 * signal blocked or ignored. posix_spawn(3)
 *
 * Runs with the privilege of the caller, and so does the program. The caller must be sure that the
 * program at the path can be trusted.
 */
#pragma once

#include "base/fd.h"

#include <sys/types.h>

/*
 * Executes `path` with `input` as descriptor 0. The child also inherits the `count` descriptors of
 * `fds`, under the same numbers, and any other descriptor that is not close-on-exec. Returns 0 or
 * -errno.
 */
_must_check_ int spawn(const char *path, char *const argv[], int input, const int *fds,
                       size_t count, pid_t *ret_pid);
