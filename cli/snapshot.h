/*
 * yett snapshot: states of what a copy-on-write sandbox changed, to go back to. On the public libyett; no helper takes part.
 */
#pragma once

#include "cli/options.h"

extern const struct option snapshot_options[];

int snapshot_main(const struct subcommand *self, int argc, char **argv);
