/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a run, which run.c puts together: the request for the sandbox, the command in it,
 * and the report on both.
 *
 * Runs as the caller. Each part stores its error in run->error and returns the code.
 */
#pragma once

#include "cli/changes/work.h"
#include "cli/network/blocked.h"
#include "cli/run/pump.h"
#include "cli/run/run_options.h"
#include "cli/terminal.h"
#include "libclient/yett.h"

#define RUN_DIRECTORIES_MAX 3

/* The state of a run, from its options to its exit code. */
struct run {
	struct run_options options;
	const char *attach_to; /* an existing sandbox; NULL: create one */
	const char *const *argv;
	const char *shell[2]; /* argv of `yett shell` */
	char shell_path[4096];
	char terminal_type[128];
	struct terminal terminal;
	char home[4096]; /* see run_ask_find_home(); empty: none */
	char inside[4096];
	/* Where the command may start, in order of preference. */
	const char *directories[RUN_DIRECTORIES_MAX];
	size_t directories_count;
	/* The session of the sandbox has a directory for commands that name none. */
	bool has_session_directory;
	bool has_default_share; /* the last share is the current directory, shared by default */
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	struct yett_command *command;
	struct yett_sandbox_info info; /* id empty: there was no sandbox */
	uint64_t command_id;           /* 0: the command did not start */
	struct yett_result result;
	bool has_result;
	bool is_output_lost;   /* some output could not be written; the error says why */
	bool is_given_up;      /* the run gave up on the command, which may still run */
	bool is_ended_by_time; /* the sandbox reached a time limit and ended with its commands */
	bool is_reported;      /* the document already has the command, with its outputs */
	struct work_own stores;
	struct yett_error error;
	struct pump pump;
	struct blocked blocked; /* only for a sandbox that this run created */
};

/*
 * Stores in run->home the home directory of `user` (a name or a uid; NULL: the caller), without
 * symbolic links. Stores the empty string if the user has no such directory. The home directory is
 * never shared by default.
 */
void run_ask_find_home(struct run *run, const char *user);

/*
 * Shares the current directory if it may be shared by default. Otherwise prints why nothing is
 * shared.
 */
_must_check_ int run_ask_choose_share(struct run *run);

/*
 * Request the sandbox, or its plan. If the default share of the current directory is refused, these
 * functions continue without it and print a note. They never drop a share that was requested.
 */
_must_check_ int run_ask_sandbox(struct run *run);
_must_check_ int run_ask_plan(struct run *run);
/* Returns the plan as text or, if there is a document, as JSON. Free it with yett_free(). */
_must_check_ int run_ask_text(struct run *run, char **ret_text);

/*
 * Runs the command in a new sandbox, or in the one to attach to, and makes all copies. Then ends
 * the sandbox or leaves it running, as requested.
 */
_must_check_ int run_session(struct run *run);

/*
 * Prints the error and the limits that were reached, and adds everything else to the document.
 * Returns the exit code.
 */
int run_report(struct run *run);
