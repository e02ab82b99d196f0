/* SPDX-License-Identifier: Apache-2.0 */
/* See run_parts.h: runs the command in its sandbox. */
#include "cli/run/run_parts.h"

#include <signal.h>
#include <string.h>

#include "cli/changes/work.h"
#include "cli/files/copy.h"
#include "cli/output.h"
#include "cli/run/commands.h"
#include "cli/run/run_report.h"
#include "cli/run/workdir.h"
#include "cli/sandboxes/suspend.h"

/* How long to wait for init after the command's own time limit. */
#define TIMEOUT_GRACE_MS 5000

static void add_directory(struct run *run, const char *directory)
{
	if (run->directories_count < RUN_DIRECTORIES_MAX)
		run->directories[run->directories_count++] = directory;
}

/*
 * Chooses the directories in which to try to start the command. If none is certain to exist, tries
 * the likely ones, and finally "/".
 */
static void choose_directories(struct run *run)
{
	const struct run_options *o = &run->options;
	const char *here = o->current_directory;

	if (o->directory) {
		add_directory(run, o->directory);
		return;
	}
	if (run->has_session_directory) {
		add_directory(run, NULL);
		return;
	}
	if (here &&
	    workdir_inside(here, o->shares, o->shares_count, run->inside, sizeof run->inside)) {
		add_directory(run, run->inside);
		return;
	}
	if (here && (run->attach_to || workdir_in_template(here)))
		add_directory(run, here);
	if (run->home[0])
		add_directory(run, run->home);
	add_directory(run, "/");
}

/*
 * Waits until the command has started or failed to. Returns as yett_command_wait() does;
 * YETT_E_TIMEOUT: the command runs.
 */
static int wait_started(struct run *run)
{
	const struct yett_result *result;

	for (;;) {
		uint64_t id = yett_command_id(run->command);
		int r = yett_command_wait(run->command, 0, &result, &run->error);

		if (r != YETT_E_TIMEOUT || id != 0)
			return r;
	}
}

/* Starts the command in the background, or runs it with the caller's streams until it ends. */
static int run_once(struct run *run, uint64_t bound)
{
	int r = run->options.background ? wait_started(run)
	                                : pump_run(&run->pump, run->sandbox, run->command, bound,
	                                           &run->result, &run->error);

	run->command_id = yett_command_id(run->command);
	if (!run->options.background || (r != 0 && r != YETT_E_TIMEOUT))
		return r;
	if (output_json())
		return 0;
	(void)printf("%llu\n", (unsigned long long)run->command_id);
	return output_flush("the id of the command", &run->error);
}

/* Whether init reported that the working directory does not exist. */
static bool is_directory_missing(const struct run *run, int r)
{
	return r == YETT_E_COMMAND_FAILED && strcmp(run->error.step, "working-directory") == 0;
}

/* Adds the name of the program that could not be executed. */
static void name_program(struct run *run)
{
	char message[sizeof run->error.message];

	(void)memcpy(message, run->error.message, sizeof message);
	if (run->error.os_error == ENOENT || run->error.os_error == EISDIR)
		run->error.detail[0] = '\0'; /* the detail repeats the message */
	(void)snprintf(run->error.message, sizeof run->error.message, "%.100s: %.140s",
	               run->argv[0], message);
}

/* Starts the command in the first of the directories that exists. */
static int run_in_directories(struct run *run)
{
	bool is_kept = run->options.background || output_json_has_stdout();
	const int kept[] = {run->options.input_later ? YETT_STDIO_LATER : run->pump.stdio[0],
	                    YETT_STDIO_CAPTURE, YETT_STDIO_CAPTURE};
	struct yett_command_options options = {
		.size = sizeof options,
		.argv = run->argv,
		.env = run->options.env,
		.stdio = is_kept ? kept : run->pump.stdio,
		.capture_bytes = is_kept ? (size_t)run->options.capture_bytes : 0,
		.timeout_ms = run->options.timeout_ms,
		.terminal = run->options.tty,
		.deny_write = run->options.deny_write,
		.deny_network = run->options.deny_network,
		.only_paths = run->options.only_paths_count ? run->options.only_paths : NULL,
		.other_user = run->options.other_user,
		.user = run->options.user,
		.memory_bytes = run->options.own.memory_bytes,
		.pids = run->options.own.pids,
		.metadata = run->options.metadata,
	};
	uint64_t bound = options.timeout_ms ? options.timeout_ms + TIMEOUT_GRACE_MS : 0;
	int r = 0;

	if (options.terminal)
		terminal_get_size(&run->terminal, &options.rows, &options.columns);
	for (size_t i = 0; i < run->directories_count; i++) {
		options.cwd = run->directories[i];
		yett_command_free(run->command);
		run->command = NULL;
		r = yett_sandbox_exec(run->sandbox, &options, &run->command, &run->error);
		if (r)
			return r;
		/*
		 * This is the last attempt, and usually the only one: close our copies of the
		 * command's ends of the pipes.
		 */
		if (i + 1 == run->directories_count)
			pump_close_passed(&run->pump);
		r = run_once(run, bound);
		if (!is_directory_missing(run, r))
			break;
	}
	if (is_directory_missing(run, r))
		(void)snprintf(run->error.message, sizeof run->error.message,
		               "the command cannot be started in %s",
		               options.cwd ? options.cwd : "the directory of the session");
	else if (r == YETT_E_COMMAND_FAILED && !*run->error.step && run->error.os_error)
		name_program(run);
	run->has_result = r == 0 && !run->options.background;
	if (r == YETT_E_TIMEOUT) {
		/*
		 * Init did not enforce the time limit, or the caller ends the run. Unless the
		 * sandbox stays, it ends with the command.
		 */
		run->result =
			(struct yett_result){.signaled = true, .status = 9, .timed_out = true};
		if (run->pump.ended_by)
			run->result = (struct yett_result){.signaled = true,
			                                   .status = run->pump.ended_by};
		/*
		 * In a sandbox that stays, the command would keep running. A command with a
		 * terminal loses the terminal instead.
		 */
		if (!run->options.tty)
			(void)!yett_command_signal(run->command, SIGKILL, NULL);
		run->has_result = run->is_given_up = true;
		r = 0;
	}
	return r;
}

/*
 * If stdout is for the document, the sandbox has kept the command's output. Adds the command and
 * its output to the document.
 */
static int report_outputs(struct run *run)
{
	int r;

	if (!output_json_has_stdout() || !run->has_result || run->is_given_up ||
	    run->is_ended_by_time)
		return 0;
	r = commands_json(run->sandbox, run->command_id, true, &run->error);
	run->is_reported = r == 0;
	/* The sandbox ended with the command, for example because memory ran out. */
	return r == YETT_E_NOT_RUNNING ? 0 : r;
}

/* If the caller's shell does not exist inside, runs /bin/sh. */
static int run_command(struct run *run)
{
	int r = run_in_directories(run);

	if (!run->shell[0] || r == 0 || run_exit_code_of_error(&run->error) != RUN_NOT_FOUND)
		return r;
	run->shell[0] = "/bin/sh";
	return run_in_directories(run);
}

static int open_pump(struct run *run)
{
	pump_open_nothing(&run->pump);
	if (run->options.background)
		return 0;
	if (!run->options.tty)
		return pump_open(&run->pump, run->options.no_stdin, &run->error);
	pump_open_terminal(&run->pump, &run->terminal);
	return 0;
}

/*
 * Ends the sandbox unless it `goes_on`, and closes it. Returns whether to report that it keeps
 * running. *late has a code if the sandbox could not be ended.
 */
static bool run_session_leave(struct run *run, bool goes_on, struct yett_error *late)
{
	bool is_news =
		goes_on && !run->attach_to && yett_sandbox_ended(run->sandbox) == YETT_ENDED_NOT;

	if (goes_on || yett_sandbox_end(run->sandbox, late) == 0)
		late->code = YETT_OK;
	yett_sandbox_close(run->sandbox);
	run->sandbox = NULL;
	return is_news;
}

/*
 * Finds out whether the session of an existing sandbox has a directory. Not needed if the caller
 * gave one.
 */
static int find_session(struct run *run)
{
	struct yett_session *session;
	int r;

	if (!run->attach_to || run->options.directory)
		return 0;
	r = yett_session_get(run->sandbox, &session, &run->error);
	if (r)
		return r;
	run->has_session_directory = *session->directory != '\0';
	yett_free(session);
	return 0;
}

/* Fails if some output of the command could not be written. */
static int check_output(struct run *run)
{
	run->is_output_lost = run->pump.lost != 0;
	return run->is_output_lost
	               ? error_set(&run->error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                           "cannot write the output of the command: %s",
	                           strerror(run->pump.lost))
	               : 0;
}

/* If the sandbox reached a time limit and ended meanwhile, that is the result, not an error. */
static int run_session_take_end(struct run *run, int r)
{
	if (r == 0 || run->has_result ||
	    !run_result_of_end(yett_sandbox_ended(run->sandbox), &run->result))
		return r;
	run->has_result = run->is_ended_by_time = true;
	return 0;
}

/* Whether a share keeps its changes in a store outside the sandbox. */
static bool has_store(const struct run *run)
{
	bool has_store = false;

	for (size_t i = 0; !run->attach_to && i < run->options.shares_count; i++)
		has_store = has_store || ((run->options.shares[i].flags & YETT_SHARE_COW) &&
		                          !run->options.shares[i].memory_bytes);
	return has_store;
}

/*
 * Finds the stores that were made for this run. Stores that the caller named, and those mounted
 * later, are not among them.
 */
static void find_stores(struct run *run)
{
	const char *named[RUN_SHARES_MAX + 1];
	size_t count = 0;

	for (size_t i = 0; i < run->options.shares_count; i++)
		named[count++] = run->options.shares[i].store;
	if (has_store(run))
		work_find_own(run->info.id, named, count, &run->stores);
}

static void leave_stores(const struct run *run)
{
	if (has_store(run))
		work_leave(run->info.id, &run->stores, run->options.rm);
}

int run_session(struct run *run)
{
	struct yett_error late = {0};
	bool goes_on = run->attach_to || run->options.life.linger, is_news;
	int r = run->attach_to ? yett_sandbox_attach(run->connection, run->attach_to, &run->sandbox,
	                                             &run->error)
	                       : run_ask_sandbox(run);

	if (r && run->attach_to)
		return suspend_explain(run->connection, run->attach_to, r, &run->error);
	if (r)
		return r;
	run->info = *yett_sandbox_get_info(run->sandbox);
	find_stores(run);
	r = find_session(run);
	if (r == 0) {
		choose_directories(run);
		r = relays_open(&run->options.relays, run->sandbox, false, &run->error);
	}
	if (r == 0) {
		run->pump.relays = &run->options.relays;
		r = copy_all_in(run->sandbox, &run->options, &run->error);
	}
	r = run_session_take_end(run, r);
	if (r || run->has_result) {
		relays_close(&run->options.relays, run->attach_to ? run->sandbox : NULL);
		/*
		 * End a new sandbox: without the files that must be copied in, it is not what was
		 * requested.
		 */
		(void)run_session_leave(run, run->attach_to != NULL, &late);
		leave_stores(run);
		return r;
	}
	r = open_pump(run);
	if (!run->attach_to && !goes_on && !run->options.background) {
		blocked_begin(&run->blocked, run->connection, &run->info);
		run->pump.blocked = &run->blocked;
	}
	if (r == 0 && !run->options.background)
		r = pump_catch_signals(&run->pump, &run->error);
	if (r == 0)
		r = run_session_take_end(run, run_command(run));
	pump_close_passed(&run->pump);
	yett_command_free(run->command);
	/* No command is left to send signals to, and the rest may take long. */
	pump_release_signals(&run->pump);
	if (r == 0)
		r = report_outputs(run);
	if (r == 0 && run->options.copies_out_count > 0 && !run->is_given_up &&
	    !run->is_ended_by_time) {
		if (run->options.tty)
			terminal_restore(&run->terminal);
		r = copy_all_out(run->sandbox, &run->options, &run->error);
	}
	relays_close(&run->options.relays,
	             goes_on && yett_sandbox_ended(run->sandbox) == YETT_ENDED_NOT ? run->sandbox
	                                                                           : NULL);
	/* The processes that the command left are dead now, so the pipes reach end of file. */
	is_news = run_session_leave(run, goes_on, &late);
	pump_drain(&run->pump);
	pump_close(&run->pump);
	if (r == 0)
		r = check_output(run);
	if (run->options.tty)
		terminal_close(&run->terminal);
	/* As late as possible: the event that explains the command's end may arrive only now. */
	blocked_end(&run->blocked);
	leave_stores(run);
	if (is_news)
		output_note("the sandbox %s goes on",
		            run->options.name ? run->options.name : run->info.id);
	if (late.code)
		output_note("%s", late.message);
	return r;
}
