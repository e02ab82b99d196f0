/* yett mount, yett unmount and yett refresh: shares of a sandbox that runs. Runs as the caller. */
#pragma once

#include "cli/options.h"

int mount_main(const struct subcommand *self, int argc, char **argv);
int unmount_main(const struct subcommand *self, int argc, char **argv);
int refresh_main(const struct subcommand *self, int argc, char **argv);
