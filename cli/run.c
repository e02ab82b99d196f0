/* See run.h. */
#include "cli/run.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <string.h>

#include "cli/connect.h"
#include "cli/copy.h"
#include "cli/output.h"
#include "cli/pump.h"
#include "cli/run_options.h"
#include "cli/terminal.h"
#include "cli/workdir.h"

/* How much later than the command's own time limit we stop believing in init. */
#define TIMEOUT_GRACE_MS 5000
#define DIRECTORIES_MAX	 3

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
	const char *directories[DIRECTORIES_MAX]; /* where the command may start, the best first */
	size_t directories_count;
	bool has_session_directory; /* the sandbox has one for commands that name none */
	bool has_default_share; /* the last one, which nobody asked for */
	FILE *json;
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	struct yett_command *command;
	struct yett_sandbox_info info; /* id empty: there was none */
	uint64_t command_id; /* 0: it did not start */
	struct yett_result result;
	bool has_result;
	bool is_given_up; /* on the command, which may still run */
	struct yett_error error;
	struct pump pump;
};

int run_exit_code_of_error(const struct yett_error *error)
{
	static const char prefix[] = "errno=";

	if (error->code != YETT_E_COMMAND_FAILED || strncmp(error->detail, prefix, sizeof prefix - 1) != 0)
		return RUN_FAILED;
	return strtol(error->detail + sizeof prefix - 1, NULL, 10) == ENOENT ? RUN_NOT_FOUND : RUN_NOT_EXECUTABLE;
}

/* With a terminal: the caller's, and what kind it is, unless the options say another. */
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

static void find_home(char *out, size_t size)
{
	const struct passwd *entry = getpwuid(geteuid());
	const char *home = entry ? entry->pw_dir : getenv("HOME");
	_cleanup_free_ char *real = home && home[0] == '/' ? realpath(home, NULL) : NULL;

	(void)snprintf(out, size, "%s", real ? real : "");
}

static int open_json(struct run *run)
{
	int fd;

	if (!run->options.json)
		return 0;
	fd = strcmp(run->options.json, "-") == 0
		     ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
		     : open(run->options.json, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	run->json = fd < 0 ? NULL : fdopen(fd, "w");
	if (run->json)
		return 0;
	(void)error_set(&run->error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot write %s: %m",
			run->options.json);
	fd_close(fd);
	return (int)run->error.code;
}

static void add_directory(struct run *run, const char *directory)
{
	if (run->directories_count < DIRECTORIES_MAX)
		run->directories[run->directories_count++] = directory;
}

/* Shares the current directory where that is the default; else says why nothing is shared. */
static int choose_share(struct run *run)
{
	struct run_options *o = &run->options;
	const char *here = o->current_directory, *home = run->home[0] ? run->home : NULL;
	enum workdir decision = here ? workdir_decide(here, home, o->shares, o->shares_count) : WORKDIR_SYSTEM;

	for (size_t i = 0; here && i < o->tmpfs_count; i++)
		if (workdir_is_below(here, o->tmpfs[i].target))
			decision = WORKDIR_IS_SHARED;
	if (decision != WORKDIR_SHARE) {
		if (*workdir_why(decision))
			output_note("%s", workdir_why(decision));
		return 0;
	}
	run->has_default_share = true;
	return run_options_add_share(o, strdup(here), strdup(here), false, &run->error);
}

/*
 * Where the command starts. Without a directory that is certain to be there it is tried in those that are likely to
 * be, down to "/".
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
	if (here && workdir_inside(here, o->shares, o->shares_count, run->inside, sizeof run->inside)) {
		add_directory(run, run->inside);
		return;
	}
	if (here && (run->attach_to || workdir_in_template(here)))
		add_directory(run, here);
	if (run->home[0])
		add_directory(run, run->home);
	add_directory(run, "/");
}

static int connect_helper(struct run *run)
{
	return connect_with_key(run->options.socket_path, true, &run->connection, &run->error);
}

static struct yett_sandbox_options sandbox_options(const struct run_options *o)
{
	return (struct yett_sandbox_options){
		.profile = o->profile,
		.hostname = o->hostname,
		.shares = o->shares,
		.shares_count = o->shares_count,
		.tmpfs = o->tmpfs,
		.tmpfs_count = o->tmpfs_count,
		.memory_dir = o->memory_dir,
		.limits = o->limits,
		.name = o->name,
		.labels = o->labels,
		.life = o->life,
	};
}

static int ask_once(struct run *run, char **ret_plan)
{
	struct yett_sandbox_options options = sandbox_options(&run->options);

	if (ret_plan)
		return yett_sandbox_plan(run->connection, &options, ret_plan, &run->error);
	return yett_sandbox_create(run->connection, &options, &run->sandbox, &run->error);
}

/* In one line; `yett doctor` says more. */
static void note_weaker(const struct run *run)
{
	const char *weaker = run->sandbox ? yett_sandbox_get_info(run->sandbox)->weaker : "";

	if (*weaker)
		output_note("weaker without root: %s", weaker);
}

/*
 * Asks for the sandbox, or for its plan. A policy that refuses the share that nobody asked for is met by going
 * without it, and that is said; what was asked for is never dropped.
 */
static int ask_sandbox(struct run *run, char **ret_plan)
{
	int r = ask_once(run, ret_plan);
	struct run_options *o = &run->options;
	struct yett_error first = run->error;

	if (r == 0)
		note_weaker(run);
	if (r != YETT_E_PERMISSION_DENIED || !run->has_default_share)
		return r;
	o->shares_count--;
	free((char *)o->shares[o->shares_count].path);
	free((char *)o->shares[o->shares_count].target);
	run->has_default_share = false;
	r = ask_once(run, ret_plan);
	/* Whatever stands in the way now does so with or without that share. */
	if (r == 0) {
		output_note("nothing is shared: %s", first.message);
		note_weaker(run);
	}
	return r;
}

static int dry_run(struct run *run)
{
	_cleanup_free_ char *plan = NULL;
	int r = ask_sandbox(run, &plan);

	if (r == 0)
		output_text(stdout, plan, true);
	return r;
}

/* Until it has started or failed to. As yett_command_wait(): YETT_E_TIMEOUT when it runs. */
static int wait_started(struct run *run)
{
	struct yett_result result;
	int r;

	for (;;) {
		struct pollfd entry = {.fd = yett_sandbox_fd(run->sandbox), .events = POLLIN};

		r = yett_command_wait(run->command, 0, &result, &run->error);
		if (r != YETT_E_TIMEOUT || yett_command_id(run->command) != 0)
			return r;
		(void)poll(&entry, 1, -1);
	}
}

/* Runs it in the background, or with the caller's streams to its end. */
static int run_once(struct run *run, uint64_t bound)
{
	int r = run->options.background
			? wait_started(run)
			: pump_run(&run->pump, run->sandbox, run->command, bound, &run->result, &run->error);

	run->command_id = yett_command_id(run->command);
	if (!run->options.background || (r != 0 && r != YETT_E_TIMEOUT))
		return r;
	(void)printf("%llu\n", (unsigned long long)run->command_id);
	return fflush(stdout) == 0 ? 0 : error_set(&run->error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot write: %m");
}

/* What does not go with leaving the command there. */
static int check_background(struct run *run)
{
	const struct run_options *o = &run->options;
	const char *why = o->tty			     ? "has no terminal of the caller's"
			  : o->copies_out_count > 0	     ? "has not ended when files would be copied out"
			  : !run->attach_to && !o->life.linger ? "needs a sandbox that lingers: --linger"
							     : NULL;

	if (!o->background || !why)
		return 0;
	return error_set(&run->error, YETT_E_INVALID_REQUEST, YETT_R_NONE, "a command in the background %s", why);
}

/* Starts it in the first of the directories that is there. */
static int run_in_directories(struct run *run)
{
	static const int kept[] = {YETT_STDIO_NULL, YETT_STDIO_CAPTURE, YETT_STDIO_CAPTURE};
	struct yett_command_options options = {
		.argv = run->argv,
		.env = run->options.env,
		.stdio = run->options.background ? kept : run->pump.stdio,
		.capture_bytes = run->options.background ? (size_t)run->options.capture_bytes : 0,
		.timeout_ms = run->options.timeout_ms,
		.terminal = run->options.tty,
		.deny_write = run->options.deny_write,
		.deny_network = run->options.deny_network,
		.only_paths = run->options.only_paths_count ? run->options.only_paths : NULL,
		.other_user = run->options.other_user,
		.user = run->options.user,
		.memory_bytes = run->options.own.memory_bytes,
		.pids = run->options.own.pids,
	};
	/* what init says when it was not the command that was at fault */
	static const char no_directory[] = "step=working-directory ";
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
		/* the last attempt, as a rule the only one: its ends of the pipes are no longer ours */
		if (i + 1 == run->directories_count)
			pump_close_passed(&run->pump);
		r = run_once(run, bound);
		if (r != YETT_E_COMMAND_FAILED || strncmp(run->error.detail, no_directory, strlen(no_directory)) != 0)
			break;
	}
	if (r == YETT_E_COMMAND_FAILED && strncmp(run->error.detail, no_directory, strlen(no_directory)) == 0)
		(void)snprintf(run->error.message, sizeof run->error.message, "the command cannot be started in %s",
			       options.cwd ? options.cwd : "the directory of the session");
	run->has_result = r == 0 && !run->options.background;
	if (r == YETT_E_TIMEOUT) {
		/* init did not keep the time, or the caller ends the run: the sandbox goes with the command */
		run->result = (struct yett_result){.signaled = true, .status = 9, .timed_out = true};
		if (run->pump.ended_by)
			run->result = (struct yett_result){.signaled = true, .status = run->pump.ended_by};
		run->has_result = run->is_given_up = true;
		r = 0;
	}
	return r;
}

/* A shell that is not there inside is one that is everywhere. */
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
		return pump_open(&run->pump, &run->error);
	pump_open_terminal(&run->pump, &run->terminal);
	return 0;
}

/* It goes with the command, or it goes on: whether there is somebody to tell so. `late` gets a code when it could not. */
static bool leave(struct run *run, struct yett_error *late)
{
	bool goes_on = run->attach_to || run->options.life.linger;
	bool is_news = goes_on && !run->attach_to && yett_sandbox_ended(run->sandbox) == YETT_ENDED_NOT;

	if ((goes_on ? yett_sandbox_detach(run->sandbox, late) : yett_sandbox_destroy(run->sandbox, late)) == 0)
		late->code = YETT_OK;
	run->sandbox = NULL;
	return is_news;
}

/* Of a sandbox that is there, where no directory was asked for. */
static int find_session(struct run *run)
{
	struct yett_session session;
	int r;

	if (!run->attach_to || run->options.directory)
		return 0;
	r = yett_session_get(run->sandbox, &session, &run->error);
	if (r)
		return r;
	run->has_session_directory = *session.directory != '\0';
	yett_session_free(&session);
	return 0;
}

static int run_sandbox(struct run *run)
{
	struct yett_error late = {0};
	bool goes_on;
	int r = run->attach_to ? yett_sandbox_attach(run->connection, run->attach_to, &run->sandbox, &run->error)
			       : ask_sandbox(run, NULL);

	if (r)
		return r;
	run->info = *yett_sandbox_get_info(run->sandbox);
	r = find_session(run);
	if (r) {
		(void)leave(run, &late);
		return r;
	}
	choose_directories(run);
	r = copy_all_in(run->sandbox, &run->options, &run->error);
	if (r) {
		(void)!yett_sandbox_destroy(run->sandbox, &late);
		run->sandbox = NULL;
		return r;
	}
	r = open_pump(run);
	if (r == 0 && !run->options.background)
		r = pump_catch_signals(&run->pump, &run->error);
	if (r == 0)
		r = run_command(run);
	pump_close_passed(&run->pump);
	yett_command_free(run->command);
	if (r == 0 && run->options.copies_out_count > 0 && !run->is_given_up) {
		pump_release_signals(&run->pump); /* the sandbox may take its time */
		r = copy_all_out(run->sandbox, &run->options, &run->error);
	}
	/* what the command left behind is gone after this, so the pipes have an end */
	goes_on = leave(run, &late);
	pump_drain(&run->pump);
	pump_close(&run->pump);
	if (run->options.tty)
		terminal_close(&run->terminal);
	if (goes_on)
		output_note("the sandbox %s goes on", run->options.name ? run->options.name : run->info.id);
	if (late.code)
		output_note("%s", late.message);
	return r;
}

static void add_limit(char *line, size_t size, const char *name, const char *value)
{
	size_t used = strlen(line);

	(void)snprintf(line + used, size - used, "%s%s limit reached%s%s%s", used ? "; " : "", name, *value ? " (" : "",
		       value, *value ? ")" : "");
}

/* The limits that ended the command, or that it ran into, by name, in one line. */
static void report_limits(const struct run *run)
{
	const struct yett_result *result = &run->result;
	const struct yett_limits *limits = &run->info.limits;
	char line[256] = "", value[64] = "";

	if (result->out_of_memory) {
		if (limits->memory_bytes)
			output_size(value, sizeof value, limits->memory_bytes);
		add_limit(line, sizeof line, "memory", value);
	}
	if (result->limits_hit & YETT_LIMIT_PIDS)
		add_limit(line, sizeof line, "process", "");
	if (result->limits_hit & YETT_LIMIT_CPU_TIME)
		add_limit(line, sizeof line, "processor time", "");
	if (result->timed_out) {
		output_duration(value, sizeof value, run->options.timeout_ms);
		add_limit(line, sizeof line, "time", value);
	}
	if (line[0])
		output_note("%s", line);
}

static int exit_code(const struct run *run)
{
	/* there may be both: a command that ended, and a copy that could not be made afterwards */
	if (!run->has_result || run->error.code)
		return run->error.code ? run_exit_code_of_error(&run->error) : 0;
	if (run->result.timed_out)
		return RUN_TIMED_OUT;
	return run->result.signaled ? RUN_SIGNALED + run->result.status : run->result.status;
}

/* null for what there was not. */
static void write_json(const struct run *run, int code)
{
	const struct yett_limits *l = &run->info.limits;
	FILE *to = run->json;

	(void)fprintf(to, "{\"exit_code\":%d,\"sandbox\":", code);
	if (run->info.id[0]) {
		(void)fputs("{\"id\":", to);
		output_json_string(to, run->info.id);
		(void)fputs(",\"profile\":", to);
		output_json_string(to, run->info.profile);
		(void)fputs(",\"label\":", to);
		if (run->info.label[0])
			output_json_string(to, run->info.label);
		else
			(void)fputs("null", to);
		(void)fputs(",\"weaker\":", to);
		if (run->info.weaker[0])
			output_json_string(to, run->info.weaker);
		else
			(void)fputs("null", to);
		(void)fprintf(to,
			      ",\"private_uid\":%u,\"landlock_abi\":%u,\"limits\":{\"memory_bytes\":%llu,\"cpu_millis\":%llu,"
			      "\"pids\":%llu,\"files\":%llu}}",
			      run->info.private_uid, run->info.landlock_abi, (unsigned long long)l->memory_bytes,
			      (unsigned long long)l->cpu_millis, (unsigned long long)l->pids,
			      (unsigned long long)l->files);
	} else {
		(void)fputs("null", to);
	}
	if (run->command_id)
		(void)fprintf(to, ",\"command\":%llu", (unsigned long long)run->command_id);
	else
		(void)fputs(",\"command\":null", to);
	(void)fputs(",\"result\":", to);
	if (run->has_result) {
		(void)fputc('{', to);
		output_json_result(to, &run->result);
		(void)fputc('}', to);
	} else {
		(void)fputs("null", to);
	}
	(void)fputs(",\"error\":", to);
	output_json_error(to, &run->error);
	(void)fputs("}\n", to);
}

static int finish(struct run *run, int r)
{
	int code;

	if (r == 0)
		run->error.code = YETT_OK;
	code = exit_code(run);
	if (run->error.code)
		output_error(&run->error);
	if (run->has_result)
		report_limits(run);
	if (run->json) {
		write_json(run, code);
		if (fclose(run->json) != 0) {
			output_note("cannot write %s: %m", run->options.json);
			code = RUN_FAILED;
		}
	}
	yett_connection_close(run->connection);
	run_options_free(&run->options);
	return code;
}

/* The caller's own: of the environment, as the one in use, else of the user database. */
static void find_shell(char *out, size_t size)
{
	const char *shell = getenv("SHELL");
	const struct passwd *entry = shell && shell[0] == '/' ? NULL : getpwuid(geteuid());

	if (entry)
		shell = entry->pw_shell;
	if (!shell || shell[0] != '/' || (size_t)snprintf(out, size, "%s", shell) >= size)
		(void)snprintf(out, size, "/bin/sh");
}

/* Options first, for run, create and exec alike. -1 to go on, else the exit code. */
static int begin(struct run *run, const struct subcommand *self, int argc, char **argv, int *ret_first)
{
	int r;

	run_options_init(&run->options);
	r = options_begin(self, argc, argv, &run->options, RUN_FAILED, ret_first);
	if (r >= 0)
		run_options_free(&run->options);
	else
		find_home(run->home, sizeof run->home);
	return r;
}

static int run_with(const struct subcommand *self, int argc, char **argv, bool is_shell)
{
	_cleanup_free_ struct run *run = calloc(1, sizeof *run);
	int first, r = run ? begin(run, self, argc, argv, &first) : RUN_FAILED;

	if (r >= 0)
		return r;
	run->argv = (const char *const *)argv + first;
	if (is_shell) {
		run->options.tty = true;
		find_shell(run->shell_path, sizeof run->shell_path);
		run->shell[0] = run->shell_path;
		run->argv = run->shell;
	}
	r = check_background(run);
	if (r == 0)
		r = open_terminal(run);
	if (r == 0)
		r = open_json(run);
	if (r == 0)
		r = choose_share(run);
	if (r == 0)
		r = connect_helper(run);
	if (r == 0)
		r = run->options.dry_run ? dry_run(run) : run_sandbox(run);
	return finish(run, r);
}

int run_main(const struct subcommand *self, int argc, char **argv)
{
	return run_with(self, argc, argv, false);
}

int shell_main(const struct subcommand *self, int argc, char **argv)
{
	return run_with(self, argc, argv, true);
}

int exec_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_free_ struct run *run = calloc(1, sizeof *run);
	int first, r = run ? begin(run, self, argc, argv, &first) : RUN_FAILED;

	if (r >= 0)
		return r;
	run->attach_to = argv[first++];
	first += first < argc && strcmp(argv[first], "--") == 0;
	run->argv = (const char *const *)argv + first;
	r = check_background(run);
	if (r == 0)
		r = open_terminal(run);
	if (r == 0)
		r = open_json(run);
	if (r == 0)
		r = connect_helper(run);
	if (r == 0)
		r = run_sandbox(run);
	return finish(run, r);
}

int create_main(const struct subcommand *self, int argc, char **argv)
{
	_cleanup_free_ struct run *run = calloc(1, sizeof *run);
	int first, r = run ? begin(run, self, argc, argv, &first) : RUN_FAILED;

	if (r >= 0)
		return r;
	run->options.life.linger = true;
	r = choose_share(run);
	if (r == 0)
		r = connect_helper(run);
	if (r == 0)
		r = ask_sandbox(run, NULL);
	if (r == 0) {
		(void)puts(yett_sandbox_get_info(run->sandbox)->id);
		r = yett_sandbox_detach(run->sandbox, &run->error);
	}
	return finish(run, r);
}
