/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands that offer nothing to other files: for each, the function that runs it, and its
 * options if it has any of its own. A function returns the exit status. The table in main.c names
 * them all. The first comment of each file says what it does, and with which privilege.
 */
#pragma once

#include "cli/options.h"

extern const struct option tool_options[], mcp_options[], serve_options[];
extern const struct option apply_options[];
extern const struct option audit_options[];
extern const struct option diff_options[];
extern const struct option git_options[];

int agents_main(const struct subcommand *self, int argc, char **argv);
int apply_main(const struct subcommand *self, int argc, char **argv);
int audit_main(const struct subcommand *self, int argc, char **argv);
int diff_main(const struct subcommand *self, int argc, char **argv);
int git_main(const struct subcommand *self, int argc, char **argv);
int top_main(const struct subcommand *self, int argc, char **argv);
