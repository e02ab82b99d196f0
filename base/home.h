/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The home directory of the caller, and the directory in which Yett keeps state for that user. Runs
 * with the caller's privilege; only reads the user database and the environment.
 */
#pragma once

#include <stddef.h>

#include "base/error.h"

#define HOME_PATH_SIZE 4096

/*
 * Writes the home directory of the effective user to out[0 … size): that of the user database,
 * which the helper uses too, else $HOME. YETT_E_NOT_FOUND: there is none. YETT_E_INVALID_REQUEST:
 * the path is too long.
 */
_must_check_ int home_find(char *out, size_t size, struct yett_error *error);

/*
 * Writes the directory of the caller's state, with a slash at the end, by the XDG Base Directory
 * Specification: $XDG_STATE_HOME/yett/, or ~/.local/state/yett/ if that is no absolute path. The
 * directory need not exist. Leaves room in `path` for a name of 40 bytes. Errors as above.
 */
_must_check_ int home_find_state(char path[static HOME_PATH_SIZE], struct yett_error *error);
