/*
 * The subcommands about commands of a sandbox that is there: ps and kill with a sandbox's commands,
 * wait, logs, input, and env.
 *
 * Runs as the caller. What the sandbox tells is printed as output.h has it; an output of a command
 * as it is.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

extern const struct option wait_options[], logs_options[], input_options[], kill_options[],
	env_options[];

/* All commands that the sandbox knows of, as a table, in JSON, or as ids only. */
_must_check_ int commands_print(struct yett_connection *connection, const char *id_or_name,
                                bool quiet, struct yett_error *error);

/* Adds what is known of a command to the document: "command", with the content of what is kept of
 * its outputs or without. */
_must_check_ int commands_json(struct yett_sandbox *sandbox, uint64_t id, bool with_outputs,
                               struct yett_error *error);

/* `yett kill SANDBOX [COMMAND…]`. */
int kill_main(const struct subcommand *self, int argc, char **argv);

/* `yett env SANDBOX [NAME=VALUE…]`: what commands begin with, printed or changed. */
int env_main(const struct subcommand *self, int argc, char **argv);

/* `yett logs SANDBOX COMMAND`, `yett input SANDBOX COMMAND`. */
int logs_main(const struct subcommand *self, int argc, char **argv);
int input_main(const struct subcommand *self, int argc, char **argv);

/* `yett wait SANDBOX COMMAND`: exits as the command did. */
int wait_main(const struct subcommand *self, int argc, char **argv);
