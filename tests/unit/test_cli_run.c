/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `yett run` from its options to its exit code, against a helper that is played here: a copy of
 * this program, which libyett executes, answers every request and runs the commands itself, without
 * any sandbox.
 */
#include <fcntl.h>
#include <pty.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/run/run.h"
#include "cli/run/run_option_table.h"
#include "tests/support/testing.h"
#include "tests/unit/fake_helper.h"

static char directory[64], helper[128], json[128], home[128], work[128];
static const char *where; /* the current directory of yett */

/* The home directory of whoever runs the test is left alone. */
static struct passwd user = {.pw_name = "tester", .pw_dir = home};

struct passwd *getpwuid(uid_t uid)
{
	(void)uid;
	return &user;
}

int getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t size, struct passwd **ret)
{
	(void)uid;
	(void)buffer;
	(void)size;
	*entry = user;
	*ret = entry;
	return 0;
}

struct run {
	pid_t pid;
	int in, out, err; /* our ends */
	char out_text[65536], err_text[65536];
	int code;
};

static int run_yett(char **argv)
{
	static const struct subcommand self = {"run", "COMMAND", "Run",    run_options,
	                                       1,     -1,        run_main, true};
	int argc = 0;

	while (argv[argc])
		argc++;
	return output_end_json(run_main(&self, argc, argv));
}

static void start_run(struct run *run, const char *const *argv)
{
	int in[2], out[2], err[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	run->pid = fork();
	if (run->pid == 0) {
		if (dup2(in[0], 0) < 0 || dup2(out[1], 1) < 0 || dup2(err[1], 2) < 0 ||
		    chdir(where) < 0)
			_exit(1);
		(void)close_range(3, ~0U, 0);
		exit(run_yett((char **)argv));
	}
	(void)close(in[0]);
	(void)close(out[1]);
	(void)close(err[1]);
	run->in = in[1];
	run->out = out[0];
	run->err = err[0];
}

static void read_all(int fd, char *out, size_t size)
{
	size_t used = 0;
	ssize_t n;

	while (used + 1 < size && (n = read(fd, out + used, size - used - 1)) > 0)
		used += (size_t)n;
	out[used] = '\0';
	(void)close(fd);
}

static void finish_run(struct run *run)
{
	int status;

	(void)close(run->in);
	read_all(run->out, run->out_text, sizeof run->out_text);
	read_all(run->err, run->err_text, sizeof run->err_text);
	assert_int_equal(waitpid(run->pid, &status, 0), run->pid);
	assert_true(WIFEXITED(status));
	run->code = WEXITSTATUS(status);
}

static struct run run;

#define RUN(...) \
	(start_run(&run, (const char *const[]){__VA_ARGS__, NULL}), finish_run(&run), run.code)

static int copy_self(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    to = open(helper, O_WRONLY | O_CREAT | O_CLOEXEC, 0755);
	char buffer[65536];
	ssize_t n;

	while ((n = read(from, buffer, sizeof buffer)) > 0)
		if (write(to, buffer, (size_t)n) != n)
			return -1;
	(void)close(from);
	return close(to);
}

static int set_up(void **state)
{
	(void)state;
	(void)strcpy(directory, "/tmp/yett-run-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(helper, sizeof helper, "%s/yett-helper", directory);
	(void)snprintf(json, sizeof json, "%s/json", directory);
	(void)snprintf(home, sizeof home, "%s/home", directory);
	(void)snprintf(work, sizeof work, "%s/work", directory);
	where = work;
	if (mkdir(home, 0755) < 0 || mkdir(work, 0755) < 0)
		return -1;
	(void)unsetenv("YETT_SOCKET");
	(void)setenv("YETT_HELPER", helper, 1);
	return copy_self();
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	(void)snprintf(command, sizeof command, "rm -r '%s'", directory);
	return system(command);
}

TEST_WITH(the_first_run_makes_a_key_and_says_so, set_up, tear_down)
{
	assert_int_equal(RUN("true"), 0);
	assert_non_null(strstr(run.err_text, "made the key"));
	assert_int_equal(RUN("true"), 0);
	assert_null(strstr(run.err_text, "made the key"));
}

TEST_WITH(streams_and_exit_codes_are_the_commands_own, set_up, tear_down)
{
	assert_int_equal(RUN("sh", "-c", "echo out; echo err >&2; exit 7"), 7);
	assert_string_equal(run.out_text, "out\n");
	assert_non_null(strstr(run.err_text, "err\n"));
	assert_int_equal(RUN("sh", "-c", "kill -TERM $$"), 128 + SIGTERM);
	assert_int_equal(RUN("/nonexistent"), 127);
	assert_int_equal(RUN("/etc/passwd"), 126);
	assert_int_equal(RUN("/"), 126);
	assert_int_equal(RUN("-e", "GREETING=hello", "sh", "-c", "echo $GREETING"), 0);
	assert_string_equal(run.out_text, "hello\n");
}

TEST_WITH(yetts_own_failures_are_125, set_up, tear_down)
{
	assert_int_equal(RUN("--memory", "much", "true"), 125);
	assert_non_null(strstr(run.err_text, "--memory much"));
	assert_int_equal(RUN("-C", "/nonexistent", "true"), 125);
	assert_int_equal(RUN("--ro", "/nonexistent", "true"), 125);
}

TEST_WITH(a_refusal_is_printed_with_its_detail_made_harmless, set_up, tear_down)
{
	assert_int_equal(RUN("-p", "none", "true"), 125);
	assert_non_null(strstr(run.err_text, "yett: the profile takes no shares\n  yett.conf:7"));
	assert_null(strstr(run.err_text, "\033"));
}

TEST_WITH(a_profile_without_shares_is_used_without_the_default_one, set_up, tear_down)
{
	assert_int_equal(RUN("-p", "strict", "true"), 0);
	assert_non_null(
		strstr(run.err_text, "yett: nothing is shared: the profile takes no shares\n"));
	assert_int_equal(RUN("-p", "strict", "--ro", ".", "true"), 125);
}

static const char *line_of(const char *path)
{
	static char line[160];

	(void)snprintf(line, sizeof line, "%s\n", path);
	return line;
}

TEST_WITH(the_command_starts_in_the_current_directory_or_at_home, set_up, tear_down)
{
	assert_int_equal(RUN("pwd"), 0);
	assert_string_equal(run.out_text, line_of(work));
	assert_int_equal(RUN("-C", "/usr", "pwd"), 0);
	assert_string_equal(run.out_text, "/usr\n");
	assert_int_equal(RUN("--ro", ".:/usr", "pwd"), 0);
	assert_string_equal(run.out_text, "/usr\n");
	where = "/";
	assert_int_equal(RUN("pwd"), 0);
	assert_string_equal(run.out_text, line_of(home));
	assert_non_null(strstr(run.err_text, "nothing is shared"));
	where = home;
	assert_int_equal(RUN("pwd"), 0);
	assert_string_equal(run.out_text, line_of(home));
	assert_non_null(strstr(run.err_text, "home directory"));
}

TEST_WITH(a_command_whose_home_is_not_inside_starts_at_the_root, set_up, tear_down)
{
	char outside[160];

	(void)snprintf(outside, sizeof outside, "%s/outside", directory);
	assert_int_equal(mkdir(outside, 0755), 0);
	user.pw_dir = outside;
	where = "/";
	assert_int_equal(RUN("pwd"), 0);
	user.pw_dir = home;
	assert_string_equal(run.out_text, "/\n");
}

TEST_WITH(time_is_limited_and_told, set_up, tear_down)
{
	assert_int_equal(RUN("--timeout", "100ms", "sleep", "1000"), 124);
	assert_non_null(strstr(run.err_text, "yett: time limit reached (100ms)\n"));
}

TEST_WITH(limits_that_were_reached_are_told_in_one_line, set_up, tear_down)
{
	assert_int_equal(RUN("true", "limits"), 0);
	assert_non_null(strstr(run.err_text,
	                       "yett: memory limit reached (64 MiB); process limit reached\n"));
}

TEST_WITH(signals_reach_the_command, set_up, tear_down)
{
	char byte;

	start_run(&run,
	          (const char *const[]){
			  "sh", "-c",
			  "trap 'echo got; exit 5' USR1; echo ready; while :; do sleep 0.05; done",
			  NULL});
	assert_int_equal(read(run.out, &byte, 1), 1);
	assert_int_equal(kill(run.pid, SIGUSR1), 0);
	finish_run(&run);
	assert_int_equal(run.code, 5);
	assert_string_equal(run.out_text, "eady\ngot\n");
	start_run(&run, (const char *const[]){"sh", "-c", "echo ready; exec sleep 1000", NULL});
	assert_int_equal(read(run.out, &byte, 1), 1);
	assert_int_equal(kill(run.pid, SIGINT), 0);
	finish_run(&run);
	assert_int_equal(run.code, 128 + SIGINT);
}

TEST_WITH(json_tells_results_and_failures, set_up, tear_down)
{
	static const char head[] =
		"{\"schema\":1,\"exit_code\":3,\"result\":{\"sandbox\":{\"id\":\"0123456789abcdef\",\"profile\":\"default\",\"label\":"
		"\"yett-sandbox (enforce)\",\"weaker\":null,\"private_uid\":4711,\"landlock_abi\":6,\"network\":\"none\",\"addresses\":[],"
		"\"limits\":{\"memory_bytes\":67108864,\"cpu_millis\":0,\"pids\":0,\"files\":0,\"file_bytes\":0,\"core_bytes\":0},"
		"\"command_timeout_ms\":null,\"max_command_timeout_ms\":null,\"hostname\":null,\"platform\":\"linux\",\"architecture\":\"";
	static const char tail[] =
		"\"},\"stores\":[],\"command\":{\"id\":1,"
		"\"argv\":[\"sh\",\"-c\",\"echo out; exit 3\"],\"result\":{\"signaled\":false,\"status\":3,\"timed_out\":false,";

	assert_int_equal(RUN("--json-fd", "2", "-q", "sh", "-c", "echo out; exit 3"), 3);
	assert_int_equal(strncmp(run.err_text, head, strlen(head)), 0);
	assert_non_null(strstr(run.err_text, "\",\"type\":\"namespaces\",\"backend\":\""));
	assert_non_null(strstr(run.err_text, tail));
	assert_non_null(strstr(run.err_text, ",\"error\":null,\"notes\":[\"made the key /"));
	assert_string_equal(run.out_text, "out\n");
	assert_int_equal(RUN("--json", "-p", "none", "true"), 125);
	assert_non_null(strstr(
		run.out_text,
		"{\"schema\":1,\"exit_code\":125,\"result\":{\"sandbox\":null,\"stores\":[],\"command\":null},\"error\":{\"code\":\"permission-denied\","
		"\"reason\":null,\"message\":\"the profile takes no shares\",\"detail\":\"yett.conf:7?[2J\","));
	assert_non_null(strstr(run.err_text, "the profile takes no shares"));
	assert_int_equal(RUN("--json", "-q", "-p", "none", "true"), 125);
	assert_string_equal(run.err_text, "");
	assert_int_equal(RUN("--json-fd", "77", "true"), 125);
	assert_non_null(strstr(run.err_text, "descriptor 77 is not open for writing"));
	assert_int_equal(RUN("--json", "--memory", "much", "true"), 125);
	assert_non_null(strstr(run.out_text, "\"code\":\"invalid-request\""));
	assert_int_equal(RUN("--memory", "much", "--json", "true"), 125);
	assert_non_null(strstr(run.out_text, "\"code\":\"invalid-request\""));
}

TEST_WITH(a_dry_run_in_json_has_the_plan_as_an_object, set_up, tear_down)
{
	assert_int_equal(RUN("--json", "--dry-run", "--ro", "/usr/share", "true"), 0);
	assert_string_equal(
		run.out_text,
		"{\"schema\":1,\"exit_code\":0,\"result\":{\"plan\":{\"shares\":2}},\"error\":null,\"notes\":[]}\n");
}

TEST_WITH(a_dry_run_prints_the_plan_and_runs_nothing, set_up, tear_down)
{
	assert_int_equal(RUN("--dry-run", "--ro", "/usr/share", "touch", json), 0);
	assert_string_equal(run.out_text, "slot\nshares 2\n\\x1b[2J");
	assert_int_not_equal(access(json, F_OK), 0);
}

/* yett with a terminal for all three streams; our side of it is returned. */
static int start_on_terminal(struct run *on, const char *const *argv)
{
	int master;

	on->pid = forkpty(&master, NULL, NULL, NULL);
	assert_true(on->pid >= 0);
	if (on->pid == 0) {
		if (chdir(where) < 0)
			_exit(1);
		exit(run_yett((char **)argv));
	}
	return master;
}

static void finish_on_terminal(struct run *on, int master)
{
	int status;

	read_all(master, on->out_text, sizeof on->out_text);
	assert_int_equal(waitpid(on->pid, &status, 0), on->pid);
	assert_true(WIFEXITED(status));
	on->code = WEXITSTATUS(status);
}

TEST_WITH(a_terminal_is_bridged_and_never_passed_on, set_up, tear_down)
{
	int master = start_on_terminal(
		&run,
		(const char *const[]){"sh", "-c",
	                              "test ! -t 0 && test ! -t 1 && test ! -t 2 && "
	                              "read line && echo \"heard $line\" && echo err >&2 && exit 9",
	                              NULL});

	assert_int_equal(write(master, "words\n", 6), 6);
	finish_on_terminal(&run, master);
	assert_int_equal(run.code, 9);
	assert_non_null(strstr(run.out_text, "heard words\r\nerr\r\n"));
}

TEST_WITH(the_end_of_input_on_a_terminal_ends_the_commands_input, set_up, tear_down)
{
	int master =
		start_on_terminal(&run, (const char *const[]){"sh", "-c", "cat; echo end", NULL});

	assert_int_equal(write(master, "\004", 1), 1);
	finish_on_terminal(&run, master);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.out_text, "end\r\n"));
}

TEST_WITH(output_to_a_terminal_is_not_lost_at_the_end, set_up, tear_down)
{
	int master = start_on_terminal(&run, (const char *const[]){"sh", "-c", "seq 1 8000", NULL});

	finish_on_terminal(&run, master);
	assert_int_equal(run.code, 0);
	assert_non_null(strstr(run.out_text, "7999\r\n8000\r\n"));
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "--personal") == 0)
		return fake_helper();
	return testing_run("tests", NULL, NULL);
}
