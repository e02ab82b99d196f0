/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The history of a sandbox: the commands that `yett exec` ran in it, kept with its session, one a
 * line, for the last thousand commands.
 *
 * Runs as the caller. The file may have been edited, or its last line truncated: lines that are not
 * valid are skipped.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

struct history_entry {
	const char *sandbox; /* as the user named it */
	const char *id;
	const char *const *argv;
	const struct yett_result *result; /* NULL: unknown */
	bool is_started;                  /* it runs in the background */
};

/*
 * Adds an entry, if the sandbox has a session. A failure is only noted, since the command itself
 * has already run.
 */
void history_add(const struct history_entry *entry);

int history_main(const struct subcommand *self, int argc, char **argv);

extern const struct option history_options[];
