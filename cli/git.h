/*
 * yett git: commits that were made in a sandbox, taken over by git's own means. The repository
 * inside is read by git inside; git outside gets a pack, and checks each object of it.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/options.h"

extern const struct option git_options[];

int git_main(const struct subcommand *self, int argc, char **argv);
