/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports how a command ended: the limits that it reached, and the exit code that stands for its
 * result.
 *
 * Runs as the caller.
 */
#pragma once

#include "cli/exit_code.h"
#include "libclient/yett.h"

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
