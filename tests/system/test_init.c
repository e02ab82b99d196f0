/* SPDX-License-Identifier: Apache-2.0 */
/* Commands in a sandbox of yett-init alone: what they are, what they leave, and what init says of
 * them. */
#include <string.h>

#include "tests/support/init_sandbox.h"
#include "tests/support/testing.h"

#include "protocol/frame_message.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

WITH_SANDBOX(output_and_input_pass_through_pipes)
{
	int in[2], out[2];
	uint64_t sequence;

	assert_return_code(pipe2(in, O_CLOEXEC), errno);
	assert_return_code(pipe2(out, O_CLOEXEC), errno);
	sequence = exec_fds(sandbox, SH("cat; echo err >&2"), (int[]){in[0], out[1], out[1]}, 0);
	close(in[0]);
	close(out[1]);
	assert_int_equal(write(in[1], "hello\n", 6), 6);
	close(in[1]);
	expect_status(sandbox, sequence, 0);
	assert_string_equal(read_all(out[0]), "hello\nerr\n");
}

WITH_SANDBOX(exit_status_and_signal_are_told_apart)
{
	const struct message_exited *exited;

	expect_status(sandbox, exec_command(sandbox, SH("exit 143")), 143);
	exited = expect_end(sandbox, exec_command(sandbox, SH("kill -TERM $$")));
	assert_true(exited->signaled);
	assert_int_equal(exited->status, SIGTERM);
	assert_false(exited->timed_out);
	assert_true(exited->wall_us > 0 && exited->memory_peak_bytes > 0);
}

WITH_SANDBOX(a_command_is_the_configured_user_without_any_privilege)
{
	const char *status = output_of(sandbox, ARGV("cat", "/proc/self/status"));

	contains(status, "\nUid:\t1000\t1000\t1000\t1000\n");
	contains(status, "\nGid:\t1000\t1000\t1000\t1000\n");
	contains(status, "\nGroups:\t2000 \n");
	contains(
		status,
		"\nCapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n");
	contains(
		status,
		"\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
	contains(status, "\nSigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

TEST(capabilities_of_the_profile_survive_and_no_others)
{
	struct sandbox *sandbox;

	prepare();
	config.capabilities = 1 << CAP_CHOWN | 1 << CAP_FOWNER;
	init_capabilities |= config.capabilities;
	sandbox = start_prepared();
	contains(output_of(sandbox, ARGV("cat", "/proc/self/status")),
	         "CapInh:\t0000000000000009\nCapPrm:\t0000000000000009\nCapEff:\t0000000000000009\n"
	         "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000009\n");
	finish(sandbox);
}

WITH_SANDBOX(init_keeps_three_capabilities_and_is_out_of_reach)
{
	char path[64], text[4096];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/status", sandbox->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = read(fd, text, sizeof text - 1);
	assert_true(n > 0);
	close(fd);
	text[n] = '\0';
	contains(
		text,
		"\nCapInh:\t0000000000000000\nCapPrm:\t00000000000000e0\nCapEff:\t00000000000000e0\n");
	contains(
		text,
		"\nCapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
	expect_status(sandbox,
	              exec_command(sandbox, SH("kill -9 1; kill -STOP 1; renice 5 1; ! kill -0 1")),
	              0);
	snprintf(path, sizeof path, "/proc/%d/environ", sandbox->pid);
	expect_status(sandbox, exec_command(sandbox, ARGV("cat", path)), 1);
	expect_serving(sandbox);
}

WITH_SANDBOX(only_stdio_is_open_in_a_command)
{
	assert_string_equal(output_of(sandbox, ARGV("ls", "/proc/self/fd")),
	                    "0\n1\n2\n3\n"); /* 3 is ls' own */
}

TEST(the_environment_is_the_profiles_and_the_requests)
{
	struct sandbox *sandbox;
	struct message_exec *exec = &message.body.exec;

	prepare();
	add_env("WHO=profile");
	sandbox = start_prepared();
	clear_exec();
	assert_int_equal(message_add_text(&message, "WHO=request", &exec->env[exec->env_count++]),
	                 0);
	assert_int_equal(message_add_text(&message, "WHOLE=1", &exec->env[exec->env_count++]), 0);
	assert_string_equal(
		output_of_prepared(sandbox, ARGV("env")),
		"WHO=request\nWHOLE=1\nPATH=/usr/local/bin:/usr/bin:/bin\nLANG=C.UTF-8\n");
	assert_string_equal(output_of(sandbox, ARGV("env")),
	                    "PATH=/usr/local/bin:/usr/bin:/bin\nLANG=C.UTF-8\nWHO=profile\n");
	finish(sandbox);
}

TEST(limits_umask_and_nice_come_from_the_profile)
{
	struct sandbox *sandbox;

	prepare();
	config.umask = 027;
	config.nice = 3;
	config.limits = (struct init_limits){.files = 77, .stack_bytes = UINT64_MAX - 1};
	sandbox = start_prepared();
	assert_string_equal(
		output_of(sandbox, SH("ulimit -n; ulimit -Hn; ulimit -c; ulimit -l; umask; nice")),
		"77\n77\n0\n8192\n0027\n3\n");
	finish(sandbox);
}

static void expect_start_failure(struct sandbox *sandbox, const char *program, int number)
{
	expect_error(sandbox, exec_command(sandbox, ARGV((char *)(uintptr_t)program)),
	             YETT_E_COMMAND_FAILED, YETT_R_NONE);
	assert_int_equal(message.body.error.error_number, number);
	assert_string_equal(message_text(&message, message.body.error.step), "");
}

WITH_SANDBOX(a_command_that_cannot_start_says_why)
{
	char script[] = "/tmp/yett-init-XXXXXX";
	int fd = mkstemp(script);

	expect_start_failure(sandbox, "no-such-command", ENOENT);
	expect_start_failure(sandbox, "/no/such/command", ENOENT);
	expect_start_failure(sandbox, "/usr", EISDIR);
	expect_start_failure(sandbox, "/etc/passwd", EACCES);
	expect_start_failure(sandbox, "/etc/passwd/x", ENOTDIR);
	expect_start_failure(sandbox, "", ENOENT);
	assert_int_equal(write(fd, "#!/no/interpreter\n", 18), 18);
	assert_return_code(fchmod(fd, 0755), errno);
	close(fd);
	expect_start_failure(sandbox, script, ELIBACC);
	assert_return_code(truncate(script, 0), errno);
	expect_start_failure(sandbox, script, ENOEXEC);
	unlink(script);
	expect_serving(sandbox);
}

WITH_SANDBOX(the_working_directory_is_entered_as_the_command)
{
	uint64_t sequence;

	clear_exec();
	assert_int_equal(message_add_text(&message, "/usr/bin", &message.body.exec.cwd), 0);
	assert_string_equal(output_of_prepared(sandbox, ARGV("pwd")), "/usr/bin\n");
	clear_exec();
	assert_int_equal(message_add_text(&message, "/root", &message.body.exec.cwd),
	                 0); /* closed to the command */
	sequence = send_exec(sandbox, ARGV("pwd"), NULL, 0);
	expect_error(sandbox, sequence, YETT_E_COMMAND_FAILED, YETT_R_NONE);
	assert_string_equal(message_text(&message, message.body.error.step), "working-directory");
	assert_int_equal(message.body.error.error_number, EACCES);
}

static uint64_t send_signal(struct sandbox *sandbox, uint64_t command, unsigned number)
{
	message.kind = MESSAGE_SIGNAL;
	message.body.signal = (struct message_signal){command, number};
	assert_int_equal(
		frame_send_message(sandbox->channel, &message, ++sandbox->sequence, NULL, 0, 0), 0);
	return sandbox->sequence;
}

WITH_SANDBOX(a_signal_reaches_the_whole_group)
{
	uint64_t sequence;
	int p[2];

	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	sequence = exec_fds(sandbox, SH("sleep 1000 & trap 'wait; exit 5' TERM; echo; wait; wait"),
	                    (int[]){-1, p[1], -1}, 0);
	close(p[1]);
	expect(sandbox, MESSAGE_STARTED, sequence);
	assert_int_equal(read(p[0], &(char){0}, 1), 1); /* the trap is set */
	(void)send_signal(sandbox, sequence, SIGTERM);
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_int_equal(message.body.exited.status, 5);
	assert_string_equal(read_all(p[0]), "");
	expect_error(sandbox, send_signal(sandbox, sequence, SIGTERM), YETT_E_NOT_RUNNING,
	             YETT_R_NONE);
	expect_error(sandbox, send_signal(sandbox, 4711, SIGTERM), YETT_E_NOT_RUNNING, YETT_R_NONE);
}

WITH_SANDBOX(a_timeout_kills_the_command_and_its_children)
{
	const struct message_exited *exited;
	uint64_t sequence;
	int p[2];

	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	/* Without a cgroup a process that leaves the session is out of reach. */
	sequence = exec_fds(sandbox,
	                    with_cgroup ? SH("setsid sleep 1000 & sleep 1000 & wait")
	                                : SH("sleep 1000 & wait"),
	                    (int[]){-1, p[1], -1}, 100);
	close(p[1]);
	exited = expect_end(sandbox, sequence);
	assert_true(exited->timed_out && exited->signaled);
	assert_int_equal(exited->status, SIGKILL);
	assert_true(exited->wall_us >= 100000);
	assert_string_equal(read_all(p[0]), "");
	expect_serving(sandbox);
}

WITH_SANDBOX(what_a_command_leaves_behind_ends_with_it)
{
	uint64_t sequence;
	int p[2];

	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	sequence = exec_fds(sandbox,
	                    with_cgroup ? SH("(setsid sleep 1000 &); (sleep 1000 &); exit 3")
	                                : SH("(sleep 1000 &); exit 3"),
	                    (int[]){-1, p[1], -1}, 0);
	close(p[1]);
	expect_status(sandbox, sequence, 3);
	if (with_cgroup) { /* by the time EXITED came: nothing holds the pipe any more */
		struct pollfd fd = {.fd = p[0]};

		assert_int_equal(poll(&fd, 1, 0), 1);
		assert_true(fd.revents & POLLHUP);
	}
	assert_string_equal(read_all(p[0]), "");
}

WITH_SANDBOX(orphans_are_reaped)
{
	expect_status(
		sandbox,
		exec_command(sandbox, SH("for i in 1 2 3 4 5 6 7 8; do (true & true &); done")), 0);
	for (int i = 0; count_children_at_rest(sandbox) != 1; i++) /* they may end a little later */
		assert_true(i < 1000);
}

WITH_SANDBOX(two_hundred_commands_run_at_once)
{
	enum { COMMANDS = 200 };
	bool started[COMMANDS + 1] = {false}, exited[COMMANDS + 1] = {false};
	int go[2];

	assert_return_code(pipe2(go, O_CLOEXEC), errno);
	for (int i = 0; i < COMMANDS; i++)
		(void)exec_fds(sandbox, SH("read x; exit 9"), (int[]){go[0], -1, -1}, 0);
	close(go[0]);
	for (int i = 0; i < 2 * COMMANDS; i++) {
		uint64_t sequence;
		uint32_t kind = receive(sandbox, &sequence);

		assert_in_range(sequence, 1, COMMANDS);
		if (kind == MESSAGE_STARTED) {
			started[sequence] = true;
			if (i == COMMANDS - 1)
				close(go[1]); /* all run now */
			continue;
		}
		assert_int_equal(kind, MESSAGE_EXITED);
		assert_true(started[sequence] && !exited[sequence] && i >= COMMANDS);
		assert_int_equal(message.body.exited.status, 9);
		exited[sequence] = true;
	}
	expect_serving(sandbox);
}

WITH_SANDBOX(a_thousand_commands_in_a_row_leave_nothing_in_init)
{
	size_t before;

	expect_serving(sandbox);
	before = fds_at_rest(sandbox);
	for (int i = 0; i < 1000; i++)
		expect_status(sandbox, exec_command(sandbox, ARGV("/bin/true")), 0);
	assert_int_equal(fds_at_rest(sandbox), before);
}

WITH_SANDBOX(a_command_without_end_does_not_hold_up_others)
{
	uint64_t sequence = exec_command(sandbox, SH("while :; do kill -STOP -1; done"));

	expect(sandbox, MESSAGE_STARTED, sequence);
	/* It stops whatever it can reach: init, and children that are not its like yet, it cannot.
	 */
	exec_fds(sandbox, SH("exit 0"), NULL, 500);
	for (int seen = 0; seen < 1;) {
		uint64_t got;

		seen += receive(sandbox, &got) == MESSAGE_EXITED && got == sequence + 1;
	}
	(void)send_signal(sandbox, sequence, SIGKILL);
	expect(sandbox, MESSAGE_EXITED, sequence);
}

/* --- counters --- */

static int counter_file(const char *text)
{
	int fd = memfd_create("counter", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

TEST(limits_that_were_met_are_named)
{
	static const char *const before[] = {"low 0\noom 3\noom_kill 1\n", "1000\n", "max 5\n",
	                                     "nr_periods 1\nnr_throttled 0\n"};
	static const char *const after[] = {"low 0\noom 9\noom_kill 2\n", "99000000000\n",
	                                    "max 6\n", "nr_periods 9\nnr_throttled 4\n"};
	struct sandbox *sandbox;
	uint64_t sequence;
	int in[2];

	prepare();
	for (int i = 0; i < 4; i++)
		counters[i] = counter_file(before[i]);
	sandbox = start_prepared();
	expect_serving(sandbox);
	assert_return_code(pipe2(in, O_CLOEXEC), errno);
	sequence = exec_fds(sandbox, SH("read x"), (int[]){in[0], -1, -1}, 0);
	expect(sandbox, MESSAGE_STARTED, sequence);
	for (int i = 0; i < 4; i++)
		assert_int_equal(pwrite(counters[i], after[i], strlen(after[i]), 0),
		                 strlen(after[i]));
	close(in[0]);
	close(in[1]);
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_true(message.body.exited.out_of_memory);
	assert_int_equal(message.body.exited.limits_hit, LIMIT_MEMORY | LIMIT_PIDS | LIMIT_CPU);
	assert_int_equal(message.body.exited.memory_peak_bytes, 99000000000);
	expect_status(sandbox, exec_command(sandbox, SH("exit 0")), 0);
	assert_int_equal(message.body.exited.limits_hit, 0);
	finish(sandbox);
}

TEST(the_limit_of_cpu_time_is_named)
{
	struct sandbox *sandbox;
	const struct message_exited *exited;

	prepare();
	config.limits.cpu_seconds = 1;
	sandbox = start_prepared();
	exited = expect_end(sandbox, exec_command(sandbox, SH("while :; do :; done")));
	assert_true(exited->signaled && exited->limits_hit == LIMIT_CPU_TIME);
	/* Against the limit the kernel counts ticks, and what it reports was measured: on a busy
	 * machine that can be less. */
	assert_true(exited->user_us + exited->system_us > 100000);
	finish(sandbox);
}

WITH_SANDBOX(an_idle_sandbox_costs_little_memory)
{
	char path[64], text[4096] = "";
	unsigned long pss = 0;
	int fd;

	/* Right after work, before it gives memory back: what it costs at most. */
	for (int i = 0; i < 20; i++)
		expect_serving(sandbox);
	snprintf(path, sizeof path, "/proc/%d/smaps_rollup", sandbox->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(read(fd, text, sizeof text - 1) > 0);
	close(fd);
	assert_non_null(strstr(text, "Pss:"));
	assert_int_equal(sscanf(strstr(text, "Pss:"), "Pss: %lu", &pss), 1);
	print_message("init after commands: %lu KiB\n", pss);
	assert_true(pss < 1024);
}

/* What comes out of the terminal until its last process is gone. */
static const char *read_terminal(int master)
{
	static char text[4096];
	size_t length = 0;
	ssize_t n;

	while (length < sizeof text - 1 &&
	       (n = read(master, text + length, sizeof text - 1 - length)) > 0)
		length += (size_t)n;
	text[length] = '\0';
	return text;
}

WITH_SANDBOX(a_command_with_a_terminal_has_it_alone)
{
	uint64_t sequence;
	size_t before;
	int first;

	expect_serving(sandbox);
	before = fds_at_rest(sandbox);
	expect_status(sandbox, exec_terminal(sandbox, SH("stty size; echo its own >/dev/tty"), 0),
	              0);
	assert_string_equal(read_terminal(last_terminal), "24 80\r\nits own\r\n");
	expect(sandbox, MESSAGE_STARTED,
	       exec_terminal(sandbox,
	                     SH("trap 'exit 3' HUP; echo up; while :; do sleep 0.01; done"), 0));
	first = last_terminal;
	last_terminal = -1;
	sequence = sandbox->sequence;
	assert_int_equal(read(first, &(char[2]){0}, 2), 2);
	expect_serving(sandbox); /* by now it has done what follows the sending of the first one */
	assert_int_equal(fds_at_rest(sandbox),
	                 before); /* init has kept nothing, so closing it hangs up */
	close(first);
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_int_equal(message.body.exited.status, 3);
	assert_int_equal(terminals_due, 0);
	assert_int_equal(fds_at_rest(sandbox), before);
}

WITH_SANDBOX(a_command_with_a_terminal_that_cannot_start_says_why)
{
	size_t before;

	expect_serving(sandbox);
	before = fds_at_rest(sandbox);
	expect_error(sandbox, exec_terminal(sandbox, ARGV("/no/such"), 0), YETT_E_COMMAND_FAILED,
	             YETT_R_NONE);
	assert_int_equal(message.body.error.error_number, ENOENT);
	terminals_due--;
	expect_serving(sandbox);
	assert_int_equal(fds_at_rest(sandbox), before);
}

WITH_SANDBOX(a_timeout_ends_a_command_with_a_terminal)
{
	const struct message_exited *exited =
		expect_end(sandbox, exec_terminal(sandbox, SH("trap '' HUP; sleep 1000"), 200));

	assert_true(exited->timed_out);
}

static int run(const char *name)
{
	return testing_run(name, NULL, NULL);
}

int main(void)
{
	return run_rounds(run);
}
