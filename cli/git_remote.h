/*
 * git-remote-yett, by which git takes a sandbox or a store for a remote: `git remote add NAME
 * yett::ID`. gitremote-helpers(7)
 *
 * Runs as the caller, started by git in a repository.
 */
#pragma once

#include <stdbool.h>

/* Whether the program was called by that name. */
bool git_remote_is_called(const char *name);

/* `argv` is its name, the remote's, and what is behind yett:: . The exit status. */
int git_remote_main(int argc, char **argv);
