/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands that list, watch and end sandboxes: ps, inspect, attach, pause, suspend, resume,
 * destroy.
 *
 * Runs as the caller. Text from the helper is printed escaped, as output.h describes.
 */
#pragma once

#include "cli/options.h"

int ps_main(const struct subcommand *self, int argc, char **argv);
int inspect_main(const struct subcommand *self, int argc, char **argv);
int attach_main(const struct subcommand *self, int argc, char **argv);

/* Runs pause, suspend, resume or destroy, depending on the name of the subcommand. */
int sandboxes_main(const struct subcommand *self, int argc, char **argv);
