/*
 * yett tool, mcp and serve: yett-agent, executed in the place of this program, so that no other
 * subcommand links what that needs.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/options.h"

extern const struct option tool_options[], mcp_options[], serve_options[];

int agents_main(const struct subcommand *self, int argc, char **argv);
