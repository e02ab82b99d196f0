/*
 * `yett events`: what happens in sandboxes, a line each.
 *
 * Runs as the caller, on the public libyett.
 */
#pragma once

#include "cli/manage.h"

int events_main(const struct subcommand *self, int argc, char **argv);
