/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git-remote-yett: lets git use a sandbox or a store as a remote, after `git remote add NAME
 * yett::ID`. gitremote-helpers(7)
 *
 * Runs as the caller, started by git in a repository.
 */
#pragma once

#include <stdbool.h>

/* Whether the program was called as git-remote-yett. `name` is argv[0]. */
bool git_remote_is_called(const char *name);

/*
 * `argv` is the program's name, the name of the remote, and what follows "yett::". Returns the exit
 * status.
 */
int git_remote_main(int argc, char **argv);
