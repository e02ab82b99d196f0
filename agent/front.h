/*
 * The ways of asking: what `yett-agent tool`, `mcp` and `serve` do, each until there is nothing
 * more to be asked.
 *
 * With the caller's privilege. Arguments are those behind the common options; what is returned is
 * the exit status.
 */
#pragma once

#include "agent/agent.h"

#define FRONT_USAGE 64 /* the arguments are wrong: sysexits.h */

int tool_main(struct agent *agent, int argc, char **argv);
int mcp_main(struct agent *agent, int argc, char **argv);
int serve_main(struct agent *agent, int argc, char **argv);
