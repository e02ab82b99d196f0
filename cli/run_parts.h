/*
 * One run and its parts, which run.c puts together: the sandbox that is asked for, the command in
 * it, and what is told of both.
 *
 * Runs as the caller. Each part leaves what went wrong in run->error and returns its code.
 */
#pragma once

#include "cli/blocked.h"
#include "cli/pump.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "cli/work.h"
#include "libclient/yett.h"

#define RUN_DIRECTORIES_MAX 3

/* One run from its options to its exit code. */
struct run {
	struct run_options options;
	const char *attach_to; /* a sandbox that is there; NULL: make one */
	const char *const *argv;
	const char *shell[2]; /* argv of `yett shell` */
	char shell_path[4096];
	char terminal_type[128];
	struct terminal terminal;
	char home[4096]; /* empty: none */
	char inside[4096];
	const char
		*directories[RUN_DIRECTORIES_MAX]; /* where the command may start, the best first */
	size_t directories_count;
	bool has_session_directory; /* the sandbox has one for commands that name none */
	bool has_default_share;     /* the last one, which nobody asked for */
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	struct yett_command *command;
	struct yett_sandbox_info info; /* id empty: there was none */
	uint64_t command_id;           /* 0: it did not start */
	struct yett_result result;
	bool has_result;
	bool is_output_lost;   /* some of it, which the error tells */
	bool is_given_up;      /* on the command, which may still run */
	bool is_ended_by_time; /* of the sandbox, whose commands went with it */
	bool is_told;          /* it is in the document, with its outputs */
	struct work_own stores;
	struct yett_error error;
	struct pump pump;
	struct blocked blocked; /* of a sandbox of our own */
};

/* The home of `user`, by name or number (NULL: of the caller), which is shared as a current
 * directory by nobody. */
void run_ask_find_home(struct run *run, const char *user);

/* Shares the current directory where that is the default; else says why nothing is shared. */
_must_check_ int run_ask_choose_share(struct run *run);

/*
 * Asks for the sandbox, or prints its plan. A policy that refuses the share that nobody asked for
 * is met by going without it, and that is said; what was asked for is never dropped.
 */
_must_check_ int run_ask_sandbox(struct run *run);
_must_check_ int run_ask_plan(struct run *run);
_must_check_ int run_ask_text(struct run *run,
                              char **ret_text); /* the plan, as text or JSON as the document wants
                                                   it, freed with yett_free() */

/* Runs the command in a sandbox that is asked for, or in the one to attach to, with all copies; the
 * sandbox goes or stays as it should. */
_must_check_ int run_session(struct run *run);

/* Tells of the error, of limits that were met, and in JSON of all there is to tell. The exit code.
 */
int run_report(struct run *run);
