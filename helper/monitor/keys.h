/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enrolled keys: looks for a key's line in the files of the keys directory.
 *
 * Runs in the monitor, with its privilege. The files belong to the administrator; the name of a
 * file is the name under which the key is enrolled. Must never read keys that users enrolled
 * themselves: yett-reader does that, as the user.
 */
#pragma once

#include "base/error.h"
#include "helper/policy/policy.h"
#include "protocol/message_state.h"

/*
 * Looks for the line in the files NAME.pub of the policy's keys directory. Returns 0 if the key is
 * enrolled, with NAME in `ret_principal`; -ENOENT if it is not, or if there is no such directory;
 * another -errno; or BAD_SIGNATURE if the key is enrolled under two names, because neither can be
 * trusted then. A directory or file that anyone but root can write does not count, and is logged.
 *
 * While the directory is unchanged since the policy's table was made, only the file that had the
 * line then is read; otherwise all files are read. So the result is that of the present files, with
 * one exception: a line that was written into an existing file in place counts only after the
 * policy was reloaded or the directory has changed.
 */
_must_check_ int keys_find(const struct policy *policy, const char *line,
                           char ret_principal[MESSAGE_NAME_MAX + 1], struct yett_error *error);
