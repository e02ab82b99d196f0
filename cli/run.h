/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett run` runs one command in a sandbox, with the caller's streams and signals, and returns its
 * exit code. `yett shell` runs a shell.
 *
 * Runs as the caller. Everything that needs privilege is behind libyett.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

/* Exit codes besides those of the command, as shells and timeout(1) use them. */
enum {
	RUN_TIMED_OUT = 124,
	RUN_FAILED = 125, /* also of any subcommand whose output cannot be written */
	RUN_NOT_EXECUTABLE = 126,
	RUN_NOT_FOUND = 127,
	RUN_SIGNALED = 128, /* plus the number of the signal */
};

extern const struct option run_options[], shell_options[], create_options[], exec_options[],
	mount_options[];

int run_main(const struct subcommand *self, int argc, char **argv);
int shell_main(const struct subcommand *self, int argc, char **argv);

/* `yett exec`: runs a command in an existing sandbox, and does not end the sandbox. */
int exec_main(const struct subcommand *self, int argc, char **argv);

/* `yett create`: creates a sandbox without a command. */
int create_main(const struct subcommand *self, int argc, char **argv);

/* Limits that a result does not contain. 0: unknown. */
struct run_limits {
	uint64_t memory_bytes;
	/* The limits of the command or of the sandbox, whichever ended the command. */
	uint64_t time_ms, cpu_ms;
	bool is_sandboxs; /* the time limit of the sandbox was reached */
};

/*
 * Prints one line that names the limits that the command reached. Prints nothing if there are none.
 */
void run_report_limits(const struct yett_result *result, const struct run_limits *limits);

/*
 * Makes the result of a command that ended because the sandbox reached a time limit. Returns false
 * if the sandbox ended for another reason.
 */
bool run_result_of_end(enum yett_ended ended, struct yett_result *ret_result);

int run_exit_code_of_result(const struct yett_result *result);

/* The exit code for an error: 126 or 127 if the program could not be executed, otherwise 125. */
int run_exit_code_of_error(const struct yett_error *error);
