/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett git`: fetches commits that were made in a sandbox. git inside reads the repository there;
 * git outside gets a pack and checks every object in it.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/options.h"

extern const struct option git_options[];

int git_main(const struct subcommand *self, int argc, char **argv);
