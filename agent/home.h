/*
 * Where the user's own files are: the directories of the XDG Base Directory Specification.
 *
 * With the caller's privilege.
 */
#pragma once

/*
 * The path $VARIABLE/NAME, or, without that variable, HOME/BELOW/NAME, with the home as the user
 * database has it. `variable` as "XDG_CONFIG_HOME", `below` as ".config". The caller's; NULL: no
 * memory, or no home.
 */
char *home_path(const char *variable, const char *below, const char *name);
