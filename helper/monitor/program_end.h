/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a program that the monitor started: yett-decider or yett-reader.
 *
 * Runs in the monitor, as root, and raises privilege for kill(2).
 */
#pragma once

#include "helper/privilege/program.h"

/*
 * Kills and reaps the program, even if it hangs, and closes its socket, whatever is queued there.
 * Takes PROGRAM_NONE.
 */
void program_end(struct program *program);
