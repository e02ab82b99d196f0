/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett tool`, `yett mcp` and `yett serve`: parse the options and execute yett-agent in place of
 * this program, so that no other subcommand has to link the libraries of yett-agent.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/options.h"

extern const struct option tool_options[], mcp_options[], serve_options[];

int agents_main(const struct subcommand *self, int argc, char **argv);
