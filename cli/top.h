/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett top`: shows the sandboxes with their usage on a full screen, with keys to pause and resume
 * them and to kill their commands.
 *
 * Runs as the caller, on the public libyett and ncurses. The terminal is restored however the
 * process ends (terminal.h).
 */
#pragma once

#include "cli/manage.h"

int top_main(const struct subcommand *self, int argc, char **argv);
