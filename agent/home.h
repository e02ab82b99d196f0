/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of the user's files, by the XDG Base Directory Specification.
 *
 * Runs with the caller's privilege.
 */
#pragma once

/*
 * Returns $VARIABLE/NAME; without an absolute path in that variable, HOME/BELOW/NAME with the home
 * directory of the user database. `variable` is such as "XDG_CONFIG_HOME", `below` such as
 * ".config". The caller frees the path. NULL: no memory, or no home directory.
 */
char *home_path(const char *variable, const char *below, const char *name);
