/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A yett-init that is the attacker's: it does to its supervisor and to its client what
 * YETT_TEST_INIT says.
 *
 * Started by a helper in the place of the real one (--libexec), as init is: an id of its own in the
 * payload's user namespace, the control socket, the channel, and the sandbox's cgroup. The mode is
 * in the profile's environment, which the plan has.
 */
#include "base/kernel.h"
#include "helper/plan/plan.h"
#include "programs/inside/init/config.h"
#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"
#include "tests/hostile/lingering.h"
#include "tests/support/scripted.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#define CHANNEL INIT_FD_CHANNEL
#define CONTROL INIT_FD_CONTROL

static struct init_config config; /* so many bytes */
static char plan[sizeof(struct plan)];
static struct frame frame;
static struct message message;
static uint64_t sequence; /* of the command that the client asks for */
static int sealed = -1;   /* the profile, in memory that all sandboxes of it are given */

static void report_as(int error, const char *step, const char *label)
{
	struct init_report report = {.kind = INIT_ORDER_SANDBOX, .error = error};

	(void)snprintf(report.step, sizeof report.step, "%s", step);
	(void)snprintf(report.layers.label, sizeof report.layers.label, "%s", label);
	(void)send(CONTROL, &report, sizeof report, MSG_NOSIGNAL);
}

static void report(int error, const char *step)
{
	report_as(error, step, "");
}

_Noreturn static void stay(void)
{
	for (;;)
		(void)pause();
}

/* Ready, as far as one can tell, and under that label, until the client wants a command. */
static void serve_as(const char *label)
{
	struct envelope envelope;
	struct yett_error error;

	report_as(0, "", label);
	if (frame_receive(CHANNEL, &frame, 0) <= 0 ||
	    envelope_read(frame.bytes, frame.length, frame.fd_count, &envelope, &error) != 0)
		_exit(1);
	sequence = envelope.sequence;
}

static void serve(void)
{
	serve_as("");
}

static int say(enum message_kind kind, uint64_t number)
{
	message.kind = kind;
	message.arena_used = 0;
	memset(&message.body, 0, sizeof message.body);
	message.body.started = (struct message_started){1, 2};
	if (kind == MESSAGE_EXITED)
		memset(&message.body, 0, sizeof message.body);
	return frame_send_message(CHANNEL, &message, number, NULL, 0, 0);
}

_Noreturn static void say_bytes(const void *bytes, size_t length)
{
	if (send(CHANNEL, bytes, length, MSG_NOSIGNAL) < 0)
		_exit(2);
	stay();
}

/* --- before it is ready --- */

SCRIPT_DO(exit_early, _exit(7))
SCRIPT_DO(killed_early, report(EIO, "made-up-step"), stay())
SCRIPT_DO(closes_control, (void)close(CONTROL), stay())
SCRIPT_DO(report_garbage, (void)send(CONTROL, "x", 1, MSG_NOSIGNAL), stay())

SCRIPT(report_large)
{
	static char large[100000];

	memset(large, 'A', sizeof large);
	(void)send(CONTROL, large, sizeof large, MSG_NOSIGNAL);
	stay();
}

SCRIPT(report_without_nul)
{
	struct init_report report = {.kind = INIT_ORDER_SANDBOX, .error = 99999};

	memset(report.step, 'A', sizeof report.step);
	(void)send(CONTROL, &report, sizeof report, MSG_NOSIGNAL);
	stay();
}

SCRIPT_DO(report_control_characters, report(EIO, "\033[2Jstep\n<0>forged line"), stay())

/* --- when a command is asked for --- */

/* As init does: the end of the channel is the end of the sandbox. */
_Noreturn static void stay_for_client(void)
{
	struct pollfd wait = {.fd = CHANNEL};

	(void)poll(&wait, 1, -1);
	_exit(0);
}

_Noreturn static void finish_command(void)
{
	(void)say(MESSAGE_STARTED, sequence);
	(void)say(MESSAGE_EXITED, sequence);
	stay_for_client();
}

SCRIPT_DO(exits_at_exec, serve(), _exit(0))
SCRIPT_DO(closes_channel, serve(), (void)close(CHANNEL), stay())
SCRIPT_DO(garbage, serve(), say_bytes("garbage, and not even the magic", 31))
SCRIPT_DO(empty_packet, serve(), say_bytes("", 0))

SCRIPT(oversized)
{
	static uint8_t large[MESSAGE_PACKET_MAX + 1000] = "YETT\1";

	serve();
	say_bytes(large, sizeof large);
}

SCRIPT(bad_body)
{
	uint8_t packet[ENVELOPE_HEADER_SIZE + 4] = {0};
	struct envelope envelope = {.kind = MESSAGE_STARTED, .body_length = 4};

	serve();
	envelope.sequence = sequence;
	envelope_write(&envelope, packet);
	memset(packet + ENVELOPE_HEADER_SIZE, 0xc1, 4);
	say_bytes(packet, sizeof packet);
}

SCRIPT_DO(unknown_sequence, serve(), (void)say(MESSAGE_STARTED, sequence + 1000), stay())
SCRIPT_DO(zero_sequence, serve(), (void)say(MESSAGE_STARTED, 0), stay())
SCRIPT_DO(exited_first, serve(), (void)say(MESSAGE_EXITED, sequence), stay())
SCRIPT_DO(wrong_kind, serve(), (void)say(MESSAGE_ENDED, sequence), stay())

SCRIPT(signal_to_client)
{
	serve();
	message.kind = MESSAGE_SIGNAL;
	message.body.signal = (struct message_signal){.command = sequence, .signal = SIGKILL};
	(void)!frame_send_message(CHANNEL, &message, sequence, NULL, 0, 0);
	stay();
}

SCRIPT(descriptors)
{
	int fds[100];

	serve();
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = INIT_FD_CGROUP;
	message.kind = MESSAGE_STARTED;
	message.body.started = (struct message_started){1, 2};
	(void)!frame_send_message(CHANNEL, &message, sequence, fds, ARRAY_SIZE(fds), 0);
	stay();
}

SCRIPT(lingers_on_control)
{
	struct init_event event = {.kind = EVENT_STARTED};
	int fd;

	serve();
	fd = make_lingering();
	if (frame_send(CONTROL, &event, sizeof event, &fd, 1, 0) < 0)
		_exit(3);
	(void)close(fd);
	stay();
}

SCRIPT(lingers_on_channel)
{
	int fd;

	serve();
	fd = make_lingering();
	message.kind = MESSAGE_STARTED;
	message.body.started = (struct message_started){1, 2};
	for (int i = 0; i < 2; i++) /* one that is received, and one that is not */
		(void)!frame_send_message(CHANNEL, &message, sequence, &fd, 1, 0);
	(void)close(fd);
	stay();
}

SCRIPT(endless_started)
{
	serve();
	while (say(MESSAGE_STARTED, sequence) == 0)
		;
	stay();
}

/* All that is said about a command that is over is passed over, as long as it is not too much. */
SCRIPT(endless_exited)
{
	serve();
	(void)say(MESSAGE_STARTED, sequence);
	while (say(MESSAGE_EXITED, sequence) == 0)
		;
	stay_for_client();
}

/* --- in the place of a terminal --- */

static void start_with(const int *fds, size_t count)
{
	message.kind = MESSAGE_STARTED;
	message.arena_used = 0;
	message.body.started = (struct message_started){1, 2};
	(void)!frame_send_message(CHANNEL, &message, sequence, fds, count, 0);
}

static int open_master(void)
{
	return open("/dev/ptmx", O_RDWR | O_NOCTTY);
}

SCRIPT_DO(terminal_none, serve(), start_with(NULL, 0), stay())
SCRIPT_DO(terminal_null, serve(), start_with((int[]){0}, 1), stay())
SCRIPT_DO(terminal_group, serve(), start_with((int[]){INIT_FD_CGROUP}, 1), stay())
SCRIPT_DO(terminal_handle, serve(), start_with((int[]){open("/dev/ptmx", O_PATH)}, 1), stay())
SCRIPT_DO(terminal_channel, serve(), start_with((int[]){CHANNEL}, 1), stay())

SCRIPT(terminal_slave)
{
	int master = open_master(), zero = 0;

	serve();
	(void)ioctl(master, TIOCSPTLCK, &zero);
	start_with((int[]){ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY)}, 1);
	stay();
}

SCRIPT_DO(terminal_twice, serve(), start_with((int[]){open_master(), open_master()}, 2), stay())

/* What is right, so that the others are seen to be refused for what they are. */
SCRIPT(terminal_right)
{
	int master = open_master();

	serve();
	start_with(&master, 1);
	(void)close(master);
	(void)say(MESSAGE_EXITED, sequence);
	stay_for_client();
}

/* --- at the end --- */

static void block_signals(void)
{
	sigset_t all;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
}

/* Everybody else has gone, and it does not go. */
SCRIPT_DO(stays, block_signals(), serve(), (void)say(MESSAGE_STARTED, sequence),
          (void)say(MESSAGE_EXITED, sequence), stay())

SCRIPT(leaves_children)
{
	block_signals();
	serve();
	for (int i = 0; i < 50; i++)
		if (fork() == 0) {
			(void)setsid();
			stay();
		}
	(void)say(MESSAGE_STARTED, sequence);
	(void)say(MESSAGE_EXITED, sequence);
	_exit(0);
}

static void write_in(int directory, const char *file, const char *text)
{
	int fd = openat(directory, file, O_WRONLY | O_CLOEXEC);

	(void)!write(fd, text, strlen(text));
	(void)close(fd);
}

/* Groups within groups, which init has no use for, with processes in them. */
SCRIPT(nested_groups)
{
	int at = dup(INIT_FD_CGROUP);
	char pid[16];

	block_signals();
	serve();
	for (int depth = 0; depth < 20; depth++) {
		pid_t child;
		int next;

		if (mkdirat(at, "deep", 0755) < 0)
			break;
		(void)mkdirat(at, "beside", 0755);
		next = openat(at, "deep", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
		(void)close(at);
		at = next;
		child = fork();
		if (child == 0)
			stay();
		(void)snprintf(pid, sizeof pid, "%d", child);
		write_in(at, "cgroup.procs", pid);
	}
	finish_command();
}

SCRIPT(frozen)
{
	int group;
	pid_t child;
	char pid[16];

	block_signals();
	serve();
	(void)mkdirat(INIT_FD_CGROUP, "cold", 0755);
	group = openat(INIT_FD_CGROUP, "cold", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	child = fork();
	if (child == 0)
		stay();
	(void)snprintf(pid, sizeof pid, "%d", child);
	write_in(group, "cgroup.procs", pid);
	write_in(group, "cgroup.freeze", "1");
	finish_command();
}

SCRIPT(threaded)
{
	int group;

	serve();
	(void)mkdirat(INIT_FD_CGROUP, "threads", 0755);
	group = openat(INIT_FD_CGROUP, "threads", O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	write_in(group, "cgroup.type", "threaded");
	finish_command();
}

SCRIPT(many_groups)
{
	char name[16];

	serve();
	for (int i = 0; i < 5000; i++) {
		(void)snprintf(name, sizeof name, "g%d", i);
		if (mkdirat(INIT_FD_CGROUP, name, 0755) < 0)
			break;
	}
	finish_command();
}

/* Reads no word of its supervisor's, and tells it as much as it takes. */
SCRIPT(floods_control)
{
	report(0, "");
	for (;;) {
		struct pollfd wait = {.fd = CONTROL, .events = POLLOUT};

		while (send(CONTROL, &config, 1000, MSG_NOSIGNAL | MSG_DONTWAIT) > 0)
			;
		if (poll(&wait, 1, -1) < 0 || (wait.revents & POLLHUP))
			_exit(0);
	}
	return 0;
}

/* Until somebody follows. */
static void await_follower(void)
{
	char word = 0;

	report(0, "");
	while (word != INIT_WORD_REPORT)
		if (recv(CONTROL, &word, 1, 0) <= 0)
			_exit(0);
}

static void tell(struct init_event event)
{
	(void)send(CONTROL, &event, sizeof event, MSG_NOSIGNAL);
}

SCRIPT(tells_lies)
{
	static char large[100000];
	const struct init_event right = {.kind = EVENT_STARTED, .command = 7, .pid = 8};

	await_follower();
	(void)send(CONTROL, large, sizeof large, MSG_NOSIGNAL);
	(void)send(CONTROL, &right, sizeof right - 1, MSG_NOSIGNAL);
	tell((struct init_event){.kind = EVENT_FOLLOWED});
	tell((struct init_event){.kind = EVENT_PAUSED});
	tell((struct init_event){.kind = EVENT_ENDED});
	tell((struct init_event){.kind = UINT32_MAX});
	tell((struct init_event){.kind = EVENT_EXITED, .result.status = 256});
	tell((struct init_event){.kind = EVENT_EXITED, .result.limits_hit = 1U << 31});
	tell((struct init_event){.kind = EVENT_STARTED, .pid = UINT32_MAX});
	tell((struct init_event){.kind = EVENT_FAILED, .error = UINT32_MAX});
	tell(right);
	tell((struct init_event){.kind = EVENT_STARTED, .command = UINT64_MAX});
	tell((struct init_event){.kind = EVENT_STARTED,
	                         .command = UINT64_MAX & ~MESSAGE_FILE_OPERATION,
	                         .lost = UINT32_MAX});
	stay();
}

SCRIPT(tells_of_too_much)
{
	static const struct init_totals rows[] = {
		{.successes = UINT64_MAX, .failures = 2},
		{.successes = 100000},
		{.failures = 1, .timeouts = 2},
		{.successes = 1, .duration_us = UINT64_MAX},
		{.duration_us = 1},
		{.successes = 2, .failures = 1, .timeouts = 1, .duration_us = 3},
	};

	report(0, "");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		(void)send(CONTROL, &rows[i], sizeof rows[i], MSG_NOSIGNAL);
	stay();
}

SCRIPT(tells_without_end)
{
	await_follower();
	for (;;)
		tell((struct init_event){.kind = EVENT_STARTED, .command = 1, .pid = 2});
	return 0;
}

/* A packet without a byte looks like the end of the socket. */
SCRIPT(tells_nothing_at_all)
{
	await_follower();
	for (;;)
		if (send(CONTROL, "", 0, MSG_NOSIGNAL) < 0)
			_exit(0);
}

SCRIPT_DO(ends_control_when_followed, await_follower(), (void)shutdown(CONTROL, SHUT_RDWR), stay())

/* --- in the place of all that it builds --- */

static struct init_trees trees;
static int tree_fds[INIT_TREES_MAX];
static size_t tree_count;

/* Loopback up, as init has it: without it nobody lingers. */
static void raise_loopback(void)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		_exit(6);
	(void)close(fd);
}

/* What the client shares, while there is every capability of building. */
static void take_trees(int from)
{
	while (from >= 0 && !trees.is_last && frame_receive(from, &frame, 0) > 0) {
		memcpy(&trees, frame.bytes, sizeof trees);
		for (size_t i = 0; i < frame.fd_count && tree_count < ARRAY_SIZE(tree_fds); i++)
			tree_fds[tree_count++] = frame.fds[i];
	}
}

static void attach_trees(void)
{
	if (mount("tmpfs", "/lower", "tmpfs", 0, "mode=0755") < 0)
		_exit(7);
	for (size_t i = 0; i < tree_count; i++) {
		char path[32];
		struct stat st;

		(void)snprintf(path, sizeof path, "/lower/%zu", i);
		if (fstat(tree_fds[i], &st) < 0 ||
		    (S_ISDIR(st.st_mode) ? mkdir(path, 0755) : mknod(path, S_IFREG | 0644, 0)) <
		            0 ||
		    move_mount(tree_fds[i], "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH) < 0)
			_exit(8);
	}
}

/* How many processes the /proc of the template shows. */
static int count_processes(void)
{
	DIR *proc = opendir("/proc");
	int count = 0;

	for (struct dirent *entry; proc && (entry = readdir(proc));)
		count += entry->d_name[0] >= '1' && entry->d_name[0] <= '9';
	return proc ? count : -1;
}

/*
 * Executes the attacks (the first share, by its path) as the command that the client asks for, with
 * all that init has: its capabilities and its descriptors. Their surroundings stand in a file of
 * the third.
 */
SCRIPT(attacks)
{
	char environment[4096], *variables[32] = {0};
	int count = count_processes(), fd, status;
	ssize_t n;
	pid_t child;

	attach_trees();
	if (mount("proc", "/proc", "proc", 0, NULL) < 0)
		_exit(9);
	fd = open("/lower/2/environment", O_RDONLY | O_CLOEXEC);
	n = read(fd, environment, sizeof environment - 1);
	environment[n > 0 ? n : 0] = '\0';
	for (size_t i = 0;
	     i + 1 < ARRAY_SIZE(variables) && (variables[i] = strtok(i ? NULL : environment, "\n"));
	     i++)
		;
	serve();
	(void)dprintf(frame.fds[1], "template-processes %d\n", count);
	child = fork();
	if (child == 0) {
		(void)dup2(frame.fds[1], STDOUT_FILENO);
		(void)dup2(frame.fds[2], STDERR_FILENO);
		(void)execve("/lower/0", (char *[]){"attack", "builder", NULL}, variables);
		(void)dprintf(STDERR_FILENO, "the attacks were not executed: %s\n",
		              strerror(errno));
		_exit(127);
	}
	(void)waitpid(child, &status, 0);
	frame_close_fds(&frame);
	finish_command();
}

#define CALL(name)                \
	{                         \
#name, SYS_##name \
	}
static const struct {
	const char *name;
	long number;
} unneeded[] = {
	CALL(add_key),      CALL(fanotify_init),   CALL(io_setup),    CALL(io_uring_setup),
	CALL(keyctl),       CALL(perf_event_open), CALL(quotactl),    CALL(request_key),
	CALL(settimeofday), CALL(syslog),          CALL(userfaultfd),
};

/* The arguments are nobody's, so that nothing comes of it: what the kernel says. */
static int try_call(long number)
{
	return syscall(number, -1L, -1L, -1L, -1L, -1L) < 0 ? errno : 0;
}

/* By a filter whose listener lets the call go on: its answer wins over one that asks a tracer. In a
 * child, which the filter stays with. */
static int let_through_by_listener(void)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {ARRAY_SIZE(filter), filter};
	int listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
	                            SECCOMP_FILTER_FLAG_NEW_LISTENER, &program),
	    status = 0;
	struct seccomp_notif asked = {0};
	struct seccomp_notif_resp answer = {.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};
	struct pollfd wait[2] = {{.fd = listener, .events = POLLIN}, {.events = POLLIN}};
	pid_t child;

	if (listener < 0)
		return errno;
	child = fork();
	if (child == 0)
		_exit(try_call(SYS_keyctl));
	wait[1].fd = (int)syscall(SYS_pidfd_open, child, 0);
	(void)poll(wait, 2, -1);
	if (wait[0].revents & POLLIN && ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &asked) == 0) {
		answer.id = asked.id;
		(void)ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
	(void)waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

/* Tells what the kernel says to calls that building does not take, with arguments that none can do
 * anything with; and how they are let through. */
SCRIPT(calls)
{
	int status = 0, fd;
	pid_t child;

	serve();
	fd = frame.fds[1];
	for (size_t i = 0; i < ARRAY_SIZE(unneeded); i++) {
		int error = try_call(unneeded[i].number);

		(void)dprintf(fd, "%s %s\n", unneeded[i].name,
		              error ? strerrorname_np(error) : "works");
	}
	(void)dprintf(fd, "attribute %s\n",
	              fsetxattr(sealed, "user.left", "behind", 6, 0) < 0 ? strerrorname_np(errno)
	                                                                 : "works");
	child = fork();
	if (child == 0)
		_exit(let_through_by_listener());
	(void)waitpid(child, &status, 0);
	(void)dprintf(fd, "let-through %s\n",
	              WEXITSTATUS(status) ? strerrorname_np(WEXITSTATUS(status)) : "works");
	frame_close_fds(&frame);
	finish_command();
}

/* --- lies in the place of the report --- */

static void report_with(const int *fds, size_t count, uint32_t kind)
{
	const struct init_report report = {.kind = kind};

	(void)!frame_send(CONTROL, &report, sizeof report, fds, count, 0);
}

SCRIPT_DO(reports_nothing, stay())
SCRIPT_DO(reports_empty, (void)send(CONTROL, "", 0, MSG_NOSIGNAL), stay())
SCRIPT_DO(reports_other_order, report_with(NULL, 0, INIT_ORDER_READY), stay())
SCRIPT_DO(reports_unknown_order, report_with(NULL, 0, 99), stay())
SCRIPT_DO(reports_twice, report(0, ""), exited_first())
SCRIPT_DO(reports_with_a_socket, report_with((int[]){CHANNEL}, 1, INIT_ORDER_SANDBOX),
          exited_first())

SCRIPT(reports_with_a_lingering_one)
{
	int fd = make_lingering();

	report_with(&fd, 1, INIT_ORDER_SANDBOX);
	(void)close(fd);
	stay();
}

SCRIPT(reports_with_lingering_ones)
{
	int fd = make_lingering();

	report_with((int[]){fd, fd}, 2, INIT_ORDER_SANDBOX);
	(void)close(fd);
	stay();
}

/* --- in the place of its label --- */

_Noreturn static void run_as(const char *label)
{
	serve_as(label);
	finish_command();
}

SCRIPT_DO(label_none, run_as(""))
SCRIPT_DO(label_right, run_as("yett-sandbox (enforce)"))
SCRIPT_DO(label_complaining, run_as("yett-sandbox (complain)"))
SCRIPT_DO(label_of_another, run_as("yett-sandbox-strict (enforce)"))
SCRIPT_DO(label_cut_off, run_as("yett-sandbox (enforce"))
SCRIPT_DO(label_right_type, run_as("system_u:system_r:yett_init_t:s0:c1,c2"))
SCRIPT_DO(label_other_type, run_as("system_u:system_r:yett_init_t_other:s0"))
SCRIPT_DO(label_other_user, run_as("unconfined_u:unconfined_r:yett_init_t:s0"))
int main(void)
{
	const char prefix[] = "YETT_TEST_INIT=";
	struct init_order order = {0};
	const struct script *script;
	const char *at;
	int trees_socket = -1, devpts;
	ssize_t n = 1;

	while (n > 0 && order.kind != INIT_ORDER_SANDBOX) {
		n = frame_receive(CONTROL, &frame, 0);
		memcpy(&order, frame.bytes, sizeof order);
		if (n > 0 && order.kind == INIT_ORDER_READY)
			(void)send(CONTROL, &(struct init_report){.kind = INIT_ORDER_READY},
			           sizeof(struct init_report), MSG_NOSIGNAL);
		if (n > 0)
			n = pread(frame.fds[INIT_ORDER_PLAN], plan, sizeof plan, 0);
		if (n > 0 && frame.fd_count > INIT_ORDER_TREES)
			trees_socket = steal_fd(&frame.fds[INIT_ORDER_TREES]);
		if (n > 0 && sealed < 0)
			sealed = steal_fd(&frame.fds[INIT_ORDER_PROFILE]);
		frame_close_fds(&frame);
	}
	if (n <= 0)
		return 1;
	take_trees(trees_socket);
	raise_loopback();
	/* All that it builds: some of the modes open terminals. */
	devpts = kernel_mount_new("devpts",
	                          (const char *const[]){"mode", "0620", "ptmxmode", "0666", NULL},
	                          "", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	if (devpts < 0 || move_mount(devpts, "", AT_FDCWD, "/dev/pts", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		_exit(5);
	(void)close(devpts);
	at = memmem(plan, (size_t)n, prefix, sizeof prefix - 1);
	script = at ? script_find(at + sizeof prefix - 1) : NULL;
	return script ? script->run() : 2;
}
