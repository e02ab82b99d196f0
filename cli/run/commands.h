/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands about commands in existing sandboxes: wait, logs, input, kill and env, and the
 * list of commands for ps.
 *
 * Runs as the caller. Text from the sandbox is escaped as output.h says; the output of a command is
 * written unchanged.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

extern const struct option wait_options[], logs_options[], input_options[], kill_options[],
	env_options[];

/* Prints all commands that the sandbox knows of: as a table, in JSON, or only the ids (`quiet`). */
_must_check_ int commands_print(struct yett_connection *connection, const char *id_or_name,
                                bool quiet, struct yett_error *error);

/*
 * Adds the member "command" to the JSON document, with the content that is kept of its outputs if
 * `with_outputs` is set.
 */
_must_check_ int commands_json(struct yett_sandbox *sandbox, uint64_t id, bool with_outputs,
                               struct yett_error *error);

/* `yett kill SANDBOX [COMMAND…]`. */
int kill_main(const struct subcommand *self, int argc, char **argv);

/*
 * `yett env SANDBOX [NAME=VALUE…]`: prints or changes the directory and environment that new
 * commands start with.
 */
int env_main(const struct subcommand *self, int argc, char **argv);

/* `yett logs SANDBOX COMMAND`, `yett input SANDBOX COMMAND`. */
int logs_main(const struct subcommand *self, int argc, char **argv);
int input_main(const struct subcommand *self, int argc, char **argv);

/* `yett wait SANDBOX COMMAND`: exits with the status of the command. */
int wait_main(const struct subcommand *self, int argc, char **argv);
