/*
 * A user's own keys: whether one is in ~/.config/yett/authorized_keys.
 *
 * With the rights of whoever calls: in yett-reader those of the user, in yett-explain its caller's.
 * Never in the helper.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Looks for the line of a key (key_line.h). 0: it is there, or `ret_is_first`: there is no file, or
 * nothing in it. Else BAD_SIGNATURE: it is not there, or the file does not count, and why; where it
 * cannot be read the error has the errno.
 */
_must_check_ int own_keys_find(const char *home, uid_t uid, const char *line, bool *ret_is_first,
                               struct yett_error *error);
