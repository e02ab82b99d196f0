/* SPDX-License-Identifier: Apache-2.0 */
/* yett-init against clients that lie, stop reading or die, and starts that fail. */
#include <string.h>

#include "tests/support/init_sandbox.h"
#include "tests/support/testing.h"

#include "base/filter_head.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

static void send_raw(struct sandbox *sandbox, const void *bytes, size_t length, const int *fds,
                     size_t fd_count)
{
	assert_int_equal(frame_send(sandbox->channel, bytes, length, fds, fd_count, 0), 0);
}

WITH_SANDBOX(hostile_packets_are_answered_and_forgotten)
{
	struct envelope envelope = {.kind = MESSAGE_EXEC, .sequence = 1000, .body_length = 64};
	uint8_t packet[ENVELOPE_HEADER_SIZE + 64];
	uint8_t body[4096];
	size_t length;

	memset(packet, 0xc1, sizeof packet);
	envelope_write(&envelope, packet);
	send_raw(sandbox, packet, 10, NULL, 0);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	send_raw(sandbox, packet, sizeof packet - 1, NULL, 0);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	packet[0] = 'X';
	send_raw(sandbox, packet, sizeof packet, NULL, 0);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_MAGIC);
	packet[0] = 'Y';
	packet[4] = 99;
	send_raw(sandbox, packet, sizeof packet, NULL, 0);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_VERSION);
	packet[4] = ENVELOPE_VERSION;
	send_raw(sandbox, packet, sizeof packet, (int[]){1}, 1);
	expect_error(sandbox, 0, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
	send_raw(sandbox, packet, sizeof packet, NULL, 0);
	expect_error(sandbox, 1000, YETT_E_PROTOCOL, YETT_R_MALFORMED);
	send_raw(sandbox, packet, sizeof packet, NULL, 0);
	expect_error(sandbox, 1000, YETT_E_PROTOCOL, YETT_R_REPLAYED);
	sandbox->sequence = 1000;
	/* well-formed, but not for init */
	message.kind = MESSAGE_ENDED;
	message.body.ended.reason = 0;
	assert_int_equal(message_encode(&message, body, sizeof body, &length), 0);
	assert_int_equal(
		frame_send_message(sandbox->channel, &message, ++sandbox->sequence, NULL, 0, 0), 0);
	expect_error(sandbox, sandbox->sequence, YETT_E_PROTOCOL, YETT_R_KIND);
	expect_serving(sandbox);
}

WITH_SANDBOX(a_wrong_number_of_descriptors_is_refused)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fds[128];
	size_t before;

	expect_serving(sandbox);
	before = fds_at_rest(sandbox);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = null;
	for (size_t n = 0; n <= 128; n += 64) { /* two are asked for */
		clear_exec();
		message.kind = MESSAGE_EXEC;
		message.body.exec.argv_count = 1;
		assert_int_equal(message_add_text(&message, "true", &message.body.exec.argv[0]), 0);
		message.body.exec.stdio[0] = message.body.exec.stdio[2] = STDIO_FD;
		assert_int_equal(frame_send_message(sandbox->channel, &message, ++sandbox->sequence,
		                                    fds, n, 0),
		                 0);
		expect_error(sandbox, sandbox->sequence, YETT_E_PROTOCOL, YETT_R_FD_COUNT);
	}
	close(null);
	expect_serving(sandbox);
	assert_int_equal(fds_at_rest(sandbox), before);
}

WITH_SANDBOX(descriptors_that_are_doors_are_refused)
{
	char node[] = "/tmp/yett-init-node-XXXXXX";
	int bad[] = {open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	             open("/etc/passwd", O_PATH | O_CLOEXEC),
	             open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC),
	             open("/dev/zero", O_RDWR | O_CLOEXEC),
	             open("/proc/self/mem", O_RDWR | O_CLOEXEC),
	             open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC),
	             epoll_create1(EPOLL_CLOEXEC),
	             eventfd(0, EFD_CLOEXEC),
	             (int)syscall(SYS_pidfd_open, getpid(), 0),
	             -1};
	const size_t last = ARRAY_SIZE(bad) - 1;

	/* A block device's node, opened as O_PATH's opposite only where the kernel has a driver for
	 * it. */
	close(mkstemp(node));
	unlink(node);
	if (mknod(node, S_IFBLK | 0600, makedev(7, 0)) == 0)
		bad[last] = open(node, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	unlink(node);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		uint64_t sequence;

		if (bad[i] < 0) {
			print_message("not to be had on this host: descriptor %zu of the list\n",
			              i);
			continue;
		}
		sequence = exec_fds(sandbox, ARGV("true"), (int[]){-1, bad[i], -1}, 0);
		expect_error(sandbox, sequence, YETT_E_SECURITY_VIOLATION, YETT_R_NONE);
		contains(message_text(&message, message.body.error.message), "stdout is ");
		close(bad[i]);
	}
	expect_serving(sandbox);
}

WITH_SANDBOX(requests_for_terminals_that_contradict_themselves_are_refused)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i < 3; i++) {
		clear_exec();
		message.body.exec.terminal = i == 0;
		message.body.exec.rows = i == 1 ? 24 : 0;
		message.body.exec.columns = i == 2 ? 65535 : 0;
		expect_error(
			sandbox,
			send_exec(sandbox, ARGV("true"), (int[]){-1, i == 0 ? null : -1, -1}, 0),
			YETT_E_INVALID_REQUEST, YETT_R_NONE);
	}
	terminals_due = 0;
	close(null);
	expect_serving(sandbox);
}

/* Two at once for each descriptor that init may have: what it cannot take it says, and kills, and
 * it serves on. */
WITH_SANDBOX(more_terminals_than_init_has_room_for_are_refused)
{
	enum { COMMANDS = 60 };
	struct rlimit limit, low;
	size_t before;
	int started = 0, refused = 0, ended_count = 0;

	expect_serving(sandbox);
	before = fds_at_rest(sandbox);
	assert_return_code(prlimit(sandbox->pid, RLIMIT_NOFILE, NULL, &limit), errno);
	low = (struct rlimit){before + 20, limit.rlim_max};
	assert_return_code(prlimit(sandbox->pid, RLIMIT_NOFILE, &low, NULL), errno);
	for (int i = 0; i < COMMANDS; i++)
		(void)exec_terminal(sandbox, SH("exec true"), 0);
	while (refused + ended_count < COMMANDS) {
		uint64_t sequence;
		uint32_t kind = receive(sandbox, &sequence);

		started += kind == MESSAGE_STARTED;
		refused += kind == MESSAGE_ERROR;
		ended_count += kind == MESSAGE_EXITED;
	}
	print_message("%d started, %d refused\n", started, refused);
	assert_int_equal(started, ended_count);
	assert_int_equal(terminals_due, refused);
	terminals_due = 0;
	assert_return_code(prlimit(sandbox->pid, RLIMIT_NOFILE, &limit, NULL), errno);
	expect_serving(sandbox);
	assert_int_equal(fds_at_rest(sandbox), before);
}

WITH_SANDBOX(a_client_that_stops_reading_loses_no_result)
{
	enum { COMMANDS = 600 };
	unsigned char seen[COMMANDS + 1] = {0};
	int sent = 0, got = 0;

	while (sent < COMMANDS) { /* until init takes no more: its results fill the channel, then
		                     the requests do */
		struct message_exec *exec = &message.body.exec;

		clear_exec();
		exec->argv_count = 1;
		assert_int_equal(message_add_text(&message, sent % 2 ? "/bin/true" : "/no/such",
		                                  &exec->argv[0]),
		                 0);
		message.kind = MESSAGE_EXEC;
		if (frame_send_message(sandbox->channel, &message, sandbox->sequence + 1, NULL, 0,
		                       MSG_DONTWAIT) == -EAGAIN)
			break;
		sandbox->sequence++;
		sent++;
	}
	print_message("%d commands sent before the first answer was read\n", sent);
	for (int wanted = sent / 2 * 2 + (sent + 1) / 2; got < wanted;
	     got++) { /* STARTED and EXITED, or ERROR */
		uint64_t sequence;
		uint32_t kind = receive(sandbox, &sequence);

		assert_in_range(sequence, 1, sent);
		if (sequence % 2)
			assert_int_equal(kind, MESSAGE_ERROR);
		else
			assert_int_equal(kind, seen[sequence] ? MESSAGE_EXITED : MESSAGE_STARTED);
		seen[sequence]++;
	}
	for (int i = 1; i <= sent; i++)
		assert_int_equal(seen[i], i % 2 ? 1 : 2);
	expect_serving(sandbox);
}

TEST(the_end_of_either_socket_ends_the_sandbox)
{
	for (int i = 0; i < 2; i++) {
		struct sandbox *sandbox = start();
		int p[2];

		assert_return_code(pipe2(p, O_CLOEXEC), errno);
		(void)exec_fds(sandbox, SH("(setsid sleep 1000 &); sleep 1000"),
		               (int[]){-1, p[1], -1}, 0);
		close(p[1]);
		expect(sandbox, MESSAGE_STARTED, sandbox->sequence);
		if (i == 0)
			sandbox->control = fd_close(sandbox->control);
		else
			sandbox->channel = fd_close(sandbox->channel);
		assert_string_equal(read_all(p[0]), "");
		assert_true(ended(sandbox));
		finish(sandbox);
	}
}

WITH_SANDBOX(a_killed_client_ends_the_sandbox)
{
	pid_t client = fork();

	assert_true(client >= 0);
	if (client == 0) {
		pause();
		_exit(0);
	}
	expect_serving(sandbox);
	sandbox->channel = fd_close(sandbox->channel); /* the client has the only other end now */
	kill(client, SIGKILL);
	assert_int_equal(waitpid(client, NULL, 0), client);
	assert_true(ended(sandbox));
}

/* --- start --- */

TEST(a_start_that_fails_names_its_step)
{
	struct sandbox *sandbox;

	prepare();
	sandbox = start_cut(offsetof(struct init_config, data) + config.data_used - 1);
	assert_int_equal(sandbox->report.error, EBADMSG);
	assert_string_equal(sandbox->report.step, "read-configuration");
	finish(sandbox);
	prepare();
	init_capabilities = 1ULL << CAP_KILL;
	sandbox = start_cut(0);
	assert_int_equal(sandbox->report.error, EPERM);
	assert_string_equal(sandbox->report.step, "groups");
	finish(sandbox);
	prepare();
	memset(config.data, 0xff, 64); /* not the head that the guard needs */
	sandbox = start_cut(0);
	assert_int_equal(sandbox->report.error, EBADMSG);
	assert_string_equal(sandbox->report.step, "system-call-filter");
	finish(sandbox);
	prepare();
	memset(config.data + FILTER_HEAD * sizeof(struct sock_filter), 0xff,
	       64); /* no instruction of BPF */
	sandbox = start_cut(0);
	assert_int_equal(sandbox->report.error, EINVAL);
	assert_string_equal(sandbox->report.step, "system-call-filter");
	finish(sandbox);
}

/* What a forbidden call of a command's ends with, where a filter around init has a listener
 * already, or none has one. */
static int errno_of_forbidden(bool has_other)
{
	static const struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog program = {.len = 1, .filter = (struct sock_filter *)&allow};
	char *const argv[] = {
		"/usr/bin/python3", "-c",
		"import ctypes; c = ctypes.CDLL(None, use_errno=True); c.mount(0, 0, 0, 0, 0); print(ctypes.get_errno())",
		NULL};
	struct sandbox *sandbox;
	int error, listener = -1;

	if (has_other) {
		listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		                        SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
		assert_return_code(listener, errno);
	}
	sandbox = start();
	error = atoi(output_of(sandbox, argv));
	finish(sandbox);
	fd_close(listener);
	return error;
}

TEST(where_another_filter_has_a_listener_forbidden_calls_fail_all_the_same)
{
	int status;
	pid_t pid;

	assert_int_equal(errno_of_forbidden(false),
	                 ENOSYS); /* the listener that came with the report is closed */
	pid = fork();             /* a filter is for good */
	if (pid == 0)
		_exit(errno_of_forbidden(true));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EPERM);
}

static int run(const char *name)
{
	return testing_run(name, NULL, NULL);
}

int main(void)
{
	return run_rounds(run);
}
