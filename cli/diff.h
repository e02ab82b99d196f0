/*
 * yett diff: what a copy-on-write sandbox changed. yett-diff (programs/diff/) finds it out, by
 * itself and confined; here its lines are shown.
 */
#pragma once

#include "cli/options.h"

extern const struct option diff_options[];

int diff_main(const struct subcommand *self, int argc, char **argv);
