/*
 * yett work, yett discard: what copy-on-write sandboxes changed. On the public libyett; no helper takes part.
 */
#pragma once

#include "cli/options.h"

extern const struct option work_options[], discard_options[];

int work_main(const struct subcommand *self, int argc, char **argv);
int discard_main(const struct subcommand *self, int argc, char **argv);

/* One line for each store that a sandbox has left: what was changed where, and how it is thrown away. */
void work_note(const char *sandbox);
