/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front ends: `yett-agent tool`, `mcp` and `serve`. Each runs until there are no more requests.
 *
 * Run with the caller's privilege. `argv` begins after the common options. The return value is the
 * exit status.
 */
#pragma once

#include "agent/agent.h"

#define FRONT_USAGE 64 /* wrong arguments, as EX_USAGE of sysexits.h */

int tool_main(struct agent *agent, int argc, char **argv);
int mcp_main(struct agent *agent, int argc, char **argv);
int serve_main(struct agent *agent, int argc, char **argv);
