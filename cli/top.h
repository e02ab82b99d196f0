/*
 * `yett top`: the sandboxes on a screen of their own, with what they use, and keys to pause, resume
 * and kill.
 *
 * Runs as the caller, on the public libyett and ncurses. The terminal is given back as it was,
 * whatever ends it (terminal.h).
 */
#pragma once

#include "cli/manage.h"

int top_main(const struct subcommand *self, int argc, char **argv);
