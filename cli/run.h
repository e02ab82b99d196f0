/*
 * `yett run`: one command in one sandbox, its streams and signals, its exit code. `yett shell`: the
 * same with a shell.
 *
 * Runs as the caller; everything privileged is behind libyett.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

/* Exit codes besides the command's own, as shells and timeout(1) have them. */
enum {
	RUN_TIMED_OUT = 124,
	RUN_FAILED = 125, /* of every subcommand, where what it prints cannot be written */
	RUN_NOT_EXECUTABLE = 126,
	RUN_NOT_FOUND = 127,
	RUN_SIGNALED = 128, /* plus the signal */
};

extern const struct option run_options[], shell_options[], create_options[], exec_options[],
	mount_options[];

int run_main(const struct subcommand *self, int argc, char **argv);
int shell_main(const struct subcommand *self, int argc, char **argv);

/* `yett exec`: the same in a sandbox that is there, which stays. */
int exec_main(const struct subcommand *self, int argc, char **argv);

/* `yett create`: the sandbox alone. */
int create_main(const struct subcommand *self, int argc, char **argv);

/* What is known of limits besides a result; 0: not. */
struct run_limits {
	uint64_t memory_bytes;
	uint64_t time_ms, cpu_ms; /* of the command, or of the sandbox, whatever ended it */
	bool is_sandboxs;         /* it was the time of the sandbox */
};

/* The limits that ended a command, or that it ran into, by name, in one line; none: nothing. */
void run_report_limits(const struct yett_result *result, const struct run_limits *limits);

/* A time limit of a sandbox ends its commands, too: their result. False: it was something else. */
bool run_result_of_end(enum yett_ended ended, struct yett_result *ret_result);

int run_exit_code_of_result(const struct yett_result *result);

/* The exit code for an error: 126 and 127 where the command could not be started, else 125. */
int run_exit_code_of_error(const struct yett_error *error);
