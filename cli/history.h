/*
 * What `yett exec` ran in a sandbox, kept with its session: a line for each command, the last
 * thousand of them.
 *
 * Runs as the caller. The file may have been edited, or its last line be torn: what is no line of
 * ours is passed over.
 */
#pragma once

#include "cli/options.h"
#include "libclient/yett.h"

struct history_entry {
	const char *sandbox; /* as it was called */
	const char *id;
	const char *const *argv;
	const struct yett_result *result; /* NULL: none is known */
	bool is_started;                  /* it runs in the background */
};

/* Adds an entry, if the sandbox has a session. Where that cannot be done it is told: the command
 * itself did what it did. */
void history_add(const struct history_entry *entry);

int history_main(const struct subcommand *self, int argc, char **argv);

extern const struct option history_options[];
