/*
 * yett apply: takes over what a copy-on-write sandbox changed. yett-apply (programs/apply/) does
 * it, by itself and confined; here what it says is shown.
 */
#pragma once

#include "cli/options.h"

extern const struct option apply_options[];

int apply_main(const struct subcommand *self, int argc, char **argv);
