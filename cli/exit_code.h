/* SPDX-License-Identifier: Apache-2.0 */
/* The exit codes of yett besides those of commands that it runs. */
#pragma once

/* Exit codes of subcommands that do not pass on the exit code of a command. */
enum { EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* Exit codes of subcommands that do, as shells and timeout(1) use them. */
enum {
	RUN_TIMED_OUT = 124,
	RUN_FAILED = 125, /* also of any subcommand whose output cannot be written */
	RUN_NOT_EXECUTABLE = 126,
	RUN_NOT_FOUND = 127,
	RUN_SIGNALED = 128, /* plus the number of the signal */
};
