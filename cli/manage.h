/*
 * The subcommands about sandboxes that are there: ps, inspect, attach, pause, resume, kill, destroy.
 *
 * Runs as the caller. What the helper tells is printed as output.h has it.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

#define MANAGE_FILTERS_MAX 32

extern const struct option ps_options[], inspect_options[], manage_options[];

/* A filter of ps: label=KEY, label=KEY=VALUE, state=STATE, name=NAME or profile=PROFILE. */
bool manage_is_filter(const char *filter);
bool manage_fits(const struct yett_sandbox_status *status, const char *filter);

/* Connects, with a key that is made if there is none yet. 0 or the code of the error. */
_must_check_ int manage_connect(const char *socket_path, struct yett_connection **ret_connection, struct yett_error *error);

int ps_main(const struct subcommand *self, int argc, char **argv);
int inspect_main(const struct subcommand *self, int argc, char **argv);
int attach_main(const struct subcommand *self, int argc, char **argv);

/* pause, resume, kill and destroy, by the name of the subcommand. */
int manage_main(const struct subcommand *self, int argc, char **argv);
