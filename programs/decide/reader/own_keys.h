/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's own keys: whether a key is in ~/.config/yett/authorized_keys.
 *
 * Runs with the caller's rights: those of the user in yett-reader, and those of its caller in
 * yett-explain. Must never run in the helper.
 */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Looks for the line of a key (key_line.h). Returns 0 if the file has the line, or if no key is
 * enrolled yet: then `*ret_is_first` is true, and the file is missing or empty, or `home` is no
 * path. Otherwise returns BAD_SIGNATURE: the file does not have the line, or is not accepted, with
 * the reason in `error`. If the file cannot be read, `error` also has the errno.
 */
_must_check_ int own_keys_find(const char *home, uid_t uid, const char *line, bool *ret_is_first,
                               struct yett_error *error);
