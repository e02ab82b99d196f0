/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands about files of existing sandboxes: cp, ls and cat. Their options are those of
 * manage.h.
 *
 * Runs as the caller, on the public libyett. Names from a sandbox are escaped as output.h says.
 */
#pragma once

#include "cli/options.h"

/*
 * Splits "SANDBOX:/PATH" at the colon, in place, and returns the path. Returns NULL for any other
 * operand, which is a path of the host. "./a:/b" is one, too, since the name of a sandbox has no
 * slash.
 */
char *files_split(char *operand);

int cp_main(const struct subcommand *self, int argc, char **argv);
int ls_main(const struct subcommand *self, int argc, char **argv);
int cat_main(const struct subcommand *self, int argc, char **argv);
