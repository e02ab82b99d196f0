/*
 * The subcommands about files of sandboxes that are there: cp, ls, cat.
 *
 * Their options are those of manage.h. Runs as the caller, on the public libyett. Names that come
 * from a sandbox are printed as output.h has it.
 */
#pragma once

#include "cli/options.h"

/*
 * "SANDBOX:/PATH": cuts the operand in two and returns the path; NULL for anything else, which is a
 * path of the host
 * ("./a:/b" too: the name of a sandbox has no slash).
 */
char *files_split(char *operand);

int cp_main(const struct subcommand *self, int argc, char **argv);
int ls_main(const struct subcommand *self, int argc, char **argv);
int cat_main(const struct subcommand *self, int argc, char **argv);
