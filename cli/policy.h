/*
 * `yett policy check [FILE]`: the helper itself reads the file, or the whole policy, as it would at its start.
 *
 * Runs as the caller; the helper is found and checked by libyett, and takes this process's place.
 */
#pragma once

#include "cli/options.h"

int policy_main(const struct subcommand *self, int argc, char **argv);
