/*
 * Enrolled keys: whether the line that stands for a key is in a file of the keys directory.
 *
 * In the monitor, with its privilege: the files are the administrator's, and say under which name a
 * key is enrolled. What users enrolled themselves yett-reader looks for, as the user.
 */
#pragma once

#include "base/error.h"
#include "helper/policy/policy.h"
#include "protocol/message_told.h"

/*
 * Looks for the line in the files NAME.pub of the policy's keys directory. 0: the key is enrolled,
 * and `ret_principal` is NAME; -ENOENT: it is not, or there is no such directory; -errno;
 * BAD_SIGNATURE: it is there under two names, of which neither is believed. A directory or file
 * that others than root can write does not count, and a line in the log says so.
 *
 * While the directory is as the policy's table saw it, only the file that had the line then is
 * read; else all of them are. So what is said is of the files as they are now, but for a line that
 * was written into a file in place since: it counts from the next time that the policy is loaded,
 * or the directory changed.
 */
_must_check_ int keys_find(const struct policy *policy, const char *line,
                           char ret_principal[MESSAGE_NAME_MAX + 1], struct yett_error *error);
