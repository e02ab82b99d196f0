/* SPDX-License-Identifier: Apache-2.0 */
/* See fake_helper.h. */
#include "tests/unit/fake_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"

static struct frame frame;
static struct envelope envelope;
static struct message message;

static bool hear(int fd)
{
	struct yett_error error;

	frame_close_fds(&frame);
	return frame_receive(fd, &frame, 0) == 1 &&
	       envelope_read(frame.bytes, frame.length, frame.fd_count, &envelope, &error) == 0 &&
	       message_decode(envelope.kind, frame.bytes + envelope_size(envelope.kind),
	                      envelope.body_length, &message, &error) == 0;
}

static union message_body *prepare(enum message_kind kind)
{
	memset(&message, 0, offsetof(struct message, arena));
	message.kind = kind;
	return &message.body;
}

static void say(int fd, uint64_t sequence, const int *fds, size_t count)
{
	if (frame_send_message(fd, &message, sequence, fds, count, 0) < 0)
		_exit(1);
}

static void refuse(int fd, uint64_t sequence, enum yett_code code, const char *text,
                   const char *detail)
{
	struct yett_error error = {.code = code};

	(void)snprintf(error.message, sizeof error.message, "%s", text);
	(void)snprintf(error.detail, sizeof error.detail, "%s", detail);
	if (frame_send_error(fd, &error, sequence, 0) < 0)
		_exit(1);
}

/* The command itself, with the three streams asked for. */
static void become_command(const int fds[3], int report)
{
	const struct message_exec *exec = &message.body.exec;
	const char *cwd = exec->cwd.length ? message_text(&message, exec->cwd) : "/";
	static char *argv[MESSAGE_ARGV_MAX + 1];
	sigset_t none;
	int reason[2] = {0, 0};

	for (uint32_t i = 0; i < exec->argv_count; i++)
		argv[i] = (char *)message_text(&message, exec->argv[i]);
	for (uint32_t i = 0; i < exec->env_count; i++)
		(void)putenv((char *)message_text(&message, exec->env[i]));
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)setsid();
	for (int i = 0; i < 3; i++)
		(void)dup2(fds[i], i);
	(void)close_range(3, (unsigned)report - 1, 0);
	(void)close_range((unsigned)report + 1, ~0U, 0);
	if (strstr(cwd, "/outside") || chdir(cwd) < 0)
		reason[0] = ENOENT;
	else
		(void)execvp(argv[0], argv), reason[1] = errno;
	(void)!write(report, reason, sizeof reason);
	_exit(1);
}

/* Starts the command of `message`; -1 when it could not, which the client is then told. */
static pid_t start_command(int channel)
{
	int pipes[2], fds[3], reason[2], null = open("/dev/null", O_RDWR), used = 0;
	struct yett_error error;
	pid_t pid;

	for (int i = 0; i < 3; i++)
		fds[i] = message.body.exec.stdio[i] == STDIO_FD
		                 ? fcntl(frame.fds[used++], F_DUPFD_CLOEXEC, 10)
		                 : null;
	if (pipe2(pipes, O_CLOEXEC) < 0)
		_exit(1);
	pid = fork();
	if (pid == 0)
		become_command(fds, fcntl(pipes[1], F_DUPFD_CLOEXEC, 20));
	(void)close(pipes[1]);
	for (int i = 0; i < 3; i++)
		if (fds[i] != null)
			(void)close(fds[i]);
	(void)close(null);
	frame_close_fds(&frame);
	if (read(pipes[0], reason, sizeof reason) == (ssize_t)sizeof reason) {
		(void)waitpid(pid, NULL, 0);
		(void)error_set(&error, YETT_E_COMMAND_FAILED, YETT_R_NONE,
		                "it could not be started");
		(void)error_cause(&error, reason[0] ? "working-directory" : NULL,
		                  reason[0] ? reason[0] : reason[1]);
		if (frame_send_error(channel, &error, envelope.sequence, 0) < 0)
			_exit(1);
		pid = -1;
	}
	(void)close(pipes[0]);
	return pid;
}

/* One command to its end: signals are passed on, and it is killed when its time is over. */
static void serve_command(int channel)
{
	uint64_t sequence = envelope.sequence, timeout = message.body.exec.timeout_ms;
	bool limits = message.body.exec.argv_count > 1 &&
	              strstr(message_text(&message, message.body.exec.argv[1]), "limits");
	bool timed_out = false;
	pid_t pid = start_command(channel);
	struct pollfd e[2] = {{.fd = channel, .events = POLLIN}, {.fd = -1, .events = POLLIN}};
	int status, n;

	if (pid < 0)
		return;
	e[1].fd = (int)syscall(SYS_pidfd_open, pid, 0);
	prepare(MESSAGE_STARTED)->started = (struct message_started){1, 2};
	say(channel, sequence, NULL, 0);
	while ((n = poll(e, 2, timeout ? (int)timeout : -1)) >= 0 && !e[1].revents) {
		if (n == 0) {
			timed_out = true;
			(void)kill(-pid, SIGKILL);
			timeout = 0;
		} else if (hear(channel)) {
			(void)kill(-pid, (int)message.body.signal.signal);
		} else {
			(void)kill(-pid, SIGKILL);
			e[0].fd = -1;
		}
	}
	(void)close(e[1].fd);
	(void)waitpid(pid, &status, 0);
	(void)kill(-pid, SIGKILL);
	if (e[0].fd < 0)
		return;
	prepare(MESSAGE_EXITED);
	message.body.exited.signaled = WIFSIGNALED(status);
	message.body.exited.status =
		(uint32_t)(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	message.body.exited.timed_out = timed_out;
	message.body.exited.out_of_memory = limits;
	message.body.exited.limits_hit = limits ? LIMIT_MEMORY | LIMIT_PIDS : 0;
	say(channel, sequence, NULL, 0);
}

static void serve_sandbox(int helper_fd)
{
	uint64_t sequence = envelope.sequence;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		_exit(1);
	prepare(MESSAGE_CREATED);
	if (message_add_text(&message, "0123456789abcdef", &message.body.created.id) < 0 ||
	    message_add_text(&message, "default", &message.body.created.profile) < 0 ||
	    message_add_text(&message, "yett-sandbox (enforce)", &message.body.created.label) < 0)
		_exit(1);
	message.body.created.private_uid = 4711;
	message.body.created.landlock_abi = 6;
	message.body.created.limits.memory_bytes = 64 << 20;
	say(helper_fd, sequence, &pair[0], 1);
	(void)close(pair[0]);
	while (hear(pair[1]))
		if (envelope.kind == MESSAGE_EXEC)
			serve_command(pair[1]);
	(void)close(pair[1]);
	prepare(MESSAGE_ENDED)->ended.reason = ENDED_CLOSED;
	say(helper_fd, sequence, NULL, 0);
}

static void serve_plan(int helper_fd)
{
	int fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	uint64_t sequence = envelope.sequence;

	(void)dprintf(fd, "slot\nshares %u\n\033[2J%c{\"shares\":%u}",
	              message.body.create.shares_count, 0, message.body.create.shares_count);
	(void)fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
	prepare(MESSAGE_PLAN);
	say(helper_fd, sequence, &fd, 1);
	(void)close(fd);
}

int fake_helper(void)
{
	const char *profile;

	prepare(MESSAGE_HELLO)->hello.version_min = 1;
	message.body.hello.version_max = 1;
	say(3, 0, NULL, 0);
	while (hear(3)) {
		profile = message_text(&message, message.body.create.profile);
		if (strcmp(profile, "none") == 0 ||
		    (strcmp(profile, "strict") == 0 && message.body.create.shares_count > 0))
			refuse(3, envelope.sequence, YETT_E_PERMISSION_DENIED,
			       "the profile takes no shares", "yett.conf:7\033[2J");
		else if (message.body.create.plan_only)
			serve_plan(3);
		else
			serve_sandbox(3);
	}
	return 0;
}
