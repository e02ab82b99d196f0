/*
 * `yett run`: one command in one sandbox, its streams and signals, its exit code. `yett shell`: the same with a shell.
 *
 * Runs as the caller; everything privileged is behind libyett.
 */
#pragma once

#include "cli/options.h"

/* Exit codes besides the command's own, as shells and timeout(1) have them. */
enum {
	RUN_TIMED_OUT = 124,
	RUN_FAILED = 125, /* of every subcommand, where what it prints cannot be written */
	RUN_NOT_EXECUTABLE = 126,
	RUN_NOT_FOUND = 127,
	RUN_SIGNALED = 128, /* plus the signal */
};

extern const struct option run_options[], shell_options[], create_options[], exec_options[];

int run_main(const struct subcommand *self, int argc, char **argv);
int shell_main(const struct subcommand *self, int argc, char **argv);

/* `yett exec`: the same in a sandbox that is there, which stays. */
int exec_main(const struct subcommand *self, int argc, char **argv);

/* `yett create`: the sandbox alone. */
int create_main(const struct subcommand *self, int argc, char **argv);

/* The exit code for an error: 126 and 127 where the command could not be started, else 125. */
int run_exit_code_of_error(const struct yett_error *error);
