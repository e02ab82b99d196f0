/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett mount, yett unmount and yett refresh, which change the shares of a running sandbox, and the
 * list of a sandbox's mounts. Runs as the caller.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

int mount_main(const struct subcommand *self, int argc, char **argv);
int unmount_main(const struct subcommand *self, int argc, char **argv);
int refresh_main(const struct subcommand *self, int argc, char **argv);

/* Prints what is mounted in a sandbox. */
_must_check_ int mount_print_all(struct yett_connection *connection, const char *id_or_name,
                                 struct yett_error *error);
