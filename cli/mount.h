/* yett mount, yett unmount and yett refresh: shares of a sandbox that runs; and what is mounted in
 * one. Runs as the caller. */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

int mount_main(const struct subcommand *self, int argc, char **argv);
int unmount_main(const struct subcommand *self, int argc, char **argv);
int refresh_main(const struct subcommand *self, int argc, char **argv);

/* What is mounted in a sandbox. */
_must_check_ int mount_print_all(struct yett_connection *connection, const char *id_or_name,
                                 struct yett_error *error);
