/* SPDX-License-Identifier: Apache-2.0 */
/* See run.h: the subcommands, and the order of the parts. */
#include "cli/run/run.h"

#include <pwd.h>
#include <signal.h>
#include <string.h>

#include "cli/connect.h"
#include "cli/output.h"
#include "cli/run/history.h"
#include "cli/run/run_parts.h"
#include "cli/sandboxes/again.h"

/* With --tty, opens the caller's terminal and passes TERM on, unless --env sets another. */
static int open_terminal(struct run *run)
{
	struct run_options *o = &run->options;
	int r;

	if (!o->tty || o->dry_run)
		return 0;
	r = terminal_open(&run->terminal, STDIN_FILENO, &run->error);
	for (size_t i = 0; r == 0 && i < o->env_count; i++)
		if (strncmp(o->env[i], "TERM=", 5) == 0)
			return 0;
	if (r == 0 && o->env_count < RUN_ENV_MAX &&
	    terminal_type(getenv("TERM"), run->terminal_type, sizeof run->terminal_type))
		o->env[o->env_count++] = run->terminal_type;
	return r;
}

static int connect_helper(struct run *run)
{
	const struct connect_choice *choice = &run->options.connect;

	if (run->options.dry_run)
		return connect_without_key(choice, &run->connection, &run->error);
	return connect_for(choice, true, run->attach_to, &run->connection, &run->error);
}

/* Refuses options that exclude each other, such as a command in the background with a terminal. */
static int check_streams(struct run *run)
{
	const struct run_options *o = &run->options;
	const char *why =
		o->tty                    ? "has no terminal of the caller's"
		: o->relays.count > 0     ? "has no ports and sockets that this program serves"
		: o->copies_out_count > 0 ? "has not ended when files would be copied out"
		: !run->attach_to && !o->life.linger ? "needs a sandbox that lingers: --linger"
						     : NULL;

	if (o->rm && o->life.linger)
		return error_set(
			&run->error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"--rm and --linger exclude each other: with --linger the sandbox does not end with its command");
	if (o->no_stdin && o->tty)
		return error_set(
			&run->error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"a command with a terminal reads from it: --no-stdin and --tty do not go together");
	if (o->input_later && !o->background)
		return error_set(
			&run->error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"--input needs --background: otherwise the command reads the caller's standard input");
	if (o->capture && !o->background && !output_json_has_stdout())
		return error_set(
			&run->error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"--capture needs --background or --json: otherwise the output goes to the caller");
	if (o->tty && output_json_has_stdout())
		return error_set(
			&run->error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"stdout is the terminal, and cannot carry the JSON document too: use another descriptor with --json-fd");
	if (!o->background || !why)
		return 0;
	return error_set(&run->error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 "a command in the background %s", why);
}

/* Adds the command to the history of the sandbox, if it has a session. */
static void add_to_history(const struct run *run, int r)
{
	const struct history_entry entry = {.sandbox = run->attach_to,
	                                    .id = run->info.id,
	                                    .argv = run->argv,
	                                    .result = run->has_result ? &run->result : NULL,
	                                    .is_started = r == 0 && run->options.background};

	if (run->attach_to && *run->info.id)
		history_add(&entry);
}

static int cli_run_finish(struct run *run, int r)
{
	int code;

	add_to_history(run, r);

	if (r == 0)
		run->error.code = YETT_OK;
	code = run_report(run);
	yett_connection_close(run->connection);
	run_options_free(&run->options);
	return code;
}

/* --idle-action suspend needs a session, which only `yett create --name` makes. */
static int check_idle_suspend(struct run *run, bool is_create)
{
	const struct run_options *o = &run->options;

	if (!o->life.idle_suspend || (is_create && o->name && o->life.idle_ms))
		return 0;
	return error_set(&run->error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 "--idle-action suspend is of yett create, with --name and --idle-timeout");
}

/* Does everything after the options are read. Returns the exit code. */
static int go(struct run *run)
{
	int r = check_streams(run);

	if (r == 0)
		r = check_idle_suspend(run, false);
	if (r == 0)
		r = open_terminal(run);
	if (r == 0 && !run->attach_to)
		r = run_ask_choose_share(run);
	if (r == 0)
		r = connect_helper(run);
	if (r == 0)
		r = run->options.dry_run ? run_ask_plan(run) : run_session(run);
	return cli_run_finish(run, r);
}

/* Finds the caller's shell: $SHELL, the shell in use, otherwise that of the user database. */
static void find_shell(char *out, size_t size)
{
	const char *shell = getenv("SHELL");
	const struct passwd *entry = shell && shell[0] == '/' ? NULL : getpwuid(geteuid());

	if (entry)
		shell = entry->pw_shell;
	if (!shell || shell[0] != '/' || (size_t)snprintf(out, size, "%s", shell) >= size)
		(void)snprintf(out, size, "/bin/sh");
}

/*
 * Reads the options. Returns -1 to continue, otherwise the exit code; `misused` if the options are
 * wrong.
 */
static int cli_run_begin(const struct subcommand *self, int argc, char **argv, int misused,
                         struct run **ret_run, int *ret_first)
{
	_cleanup_free_ struct run *run = calloc(1, sizeof *run);
	int r;

	if (!run)
		return RUN_FAILED;
	/*
	 * If a reader has closed its end, write(2) must fail instead of SIGPIPE ending this
	 * process: the life of a sandbox may depend on it.
	 */
	(void)signal(SIGPIPE, SIG_IGN);
	run_options_init(&run->options);
	r = options_begin(self, argc, argv, &run->options, misused, ret_first);
	if (r >= 0) {
		run_options_free(&run->options);
		return r;
	}
	run_ask_find_home(run, NULL);
	*ret_run = steal_ptr(&run);
	return r;
}

int run_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_free_ struct run *run = NULL;
	int first, r = cli_run_begin(self, argc, argv, RUN_FAILED, &run, &first);

	if (r >= 0)
		return r;
	run->argv = (const char *const *)argv + first;
	return go(run);
}

int shell_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_free_ struct run *run = NULL;
	int first, r = cli_run_begin(self, argc, argv, RUN_FAILED, &run, &first);

	if (r >= 0)
		return r;
	run->options.tty = true;
	find_shell(run->shell_path, sizeof run->shell_path);
	run->shell[0] = run->shell_path;
	run->argv = run->shell;
	return go(run);
}

int exec_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_free_ struct run *run = NULL;
	int first, r = cli_run_begin(self, argc, argv, RUN_FAILED, &run, &first);

	if (r >= 0)
		return r;
	run->attach_to = argv[first++];
	first += first < argc && strcmp(argv[first], "--") == 0;
	run->argv = (const char *const *)argv + first;
	return go(run);
}

static void free_words(char **words)
{
	for (size_t i = 0; words[i]; i++)
		free(words[i]);
}

/* Creates the sandbox and its session. *ret_is_written becomes true once the id was printed. */
static int cli_run_make(struct run *run, char **words, bool *ret_is_written)
{
	struct session session;
	bool is_known = false;
	int r = again_prepare(run, &session);

	if (r == 0)
		r = run_ask_sandbox(run);
	if (r == 0)
		run->info = *yett_sandbox_get_info(run->sandbox);
	if (r == 0)
		r = again_keep(run, words, &session);
	if (r == 0 && !output_json())
		(void)puts(run->info.id);
	if (r == 0)
		*ret_is_written = is_known =
			(r = output_flush("the id of the sandbox, which is ended again",
		                          &run->error)) == 0;
	if (!is_known)
		(void)yett_sandbox_end(run->sandbox, NULL); /* nobody would know its id */
	if (!is_known && *run->info.id && session.directory >= 0)
		(void)!session_remove(&session, NULL);
	session_close(&session);
	yett_sandbox_close(run->sandbox);
	return r;
}

int create_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_free_ char **words = calloc(AGAIN_WORDS_MAX, sizeof *words);
	_cleanup_free_ struct run *run = NULL;
	bool is_written = true;
	int first, r = cli_run_begin(self, argc, argv, EXIT_USAGE, &run, &first);

	if (r >= 0)
		return r;
	run->options.life.linger = true;
	r = words ? options_words(self, argc, argv, words, AGAIN_WORDS_MAX, &run->error)
	          : error_set(&run->error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                      "there is not enough memory for the options");
	if (r == 0)
		r = check_idle_suspend(run, true);
	if (r == 0)
		r = run_ask_choose_share(run);
	if (r == 0)
		r = connect_helper(run);
	if (r == 0)
		r = cli_run_make(run, words, &is_written);
	if (words)
		free_words(words);
	if (cli_run_finish(run, r) == 0)
		return 0;
	return !is_written ? RUN_FAILED : r == YETT_E_INVALID_REQUEST ? EXIT_USAGE : EXIT_FAILED;
}
