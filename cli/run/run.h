/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett run` runs one command in a sandbox, with the caller's streams and signals, and returns its
 * exit code. `yett shell` runs a shell.
 *
 * Runs as the caller. The helper does everything that needs privilege.
 */
#pragma once

#include "cli/options.h"

int run_main(const struct subcommand *self, int argc, char **argv);
int shell_main(const struct subcommand *self, int argc, char **argv);

/* `yett exec`: runs a command in an existing sandbox, and does not end the sandbox. */
int exec_main(const struct subcommand *self, int argc, char **argv);

/* `yett create`: creates a sandbox without a command. */
int create_main(const struct subcommand *self, int argc, char **argv);
