/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett diff`: shows what a copy-on-write sandbox changed. yett-diff (workspace/diff/) finds that
 * out as a separate, confined process; this file starts it and prints its output.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/options.h"

extern const struct option diff_options[];

int diff_main(const struct subcommand *self, int argc, char **argv);
