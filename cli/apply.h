/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett apply`: takes over into the source what a copy-on-write sandbox changed. yett-apply
 * (workspace/apply/) does the work as a separate, confined process; this file starts it and prints
 * its output.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/options.h"

extern const struct option apply_options[];

int apply_main(const struct subcommand *self, int argc, char **argv);
