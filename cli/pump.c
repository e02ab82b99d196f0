/* See pump.h. */
#include "cli/pump.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"

/* How long a drain waits for a writer that outlived its sandbox. */
#define DRAIN_TIMEOUT_MS 1000

static const int passed_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

/* Besides, where the command has a terminal: of the window, and of the caller's shell. */
static const int terminal_signals[] = {SIGWINCH, SIGTSTP, SIGCONT};

void pump_open_nothing(struct pump *pump)
{
	pump->signals = -1;
	for (int i = 0; i < 3; i++) {
		pump->stdio[i] = YETT_STDIO_NULL;
		pump->made[i] = false;
	}
	pump->in.from = pump->in.to = pump->out.from = pump->out.to = pump->err.from = pump->err.to = -1;
	pump->in.start = pump->in.end = 0;
	pump->terminal = NULL;
	pump->attached = false;
	pump->ended_by = 0;
}

/* One pipe between descriptor `i` of ours and the command's. */
static int open_bridge(struct pump *pump, int i, struct yett_error *error)
{
	struct pump_bridge *bridge = i == 0 ? &pump->in : i == 1 ? &pump->out : &pump->err;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot make a pipe: %m");
	bridge->from = i == 0 ? STDIN_FILENO : ends[0];
	bridge->to = i == 0 ? ends[1] : i;
	/* a command that does not read must not keep us from its output; the pipe's other end is not affected */
	if (i == 0)
		(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	pump->stdio[i] = ends[i == 0 ? 0 : 1];
	pump->made[i] = true;
	return 0;
}

/*
 * Whether the command may hold the caller's descriptor. A file that output goes to lies outside the sandbox, and could not be
 * opened anew as /dev/stdout or /dev/stderr, which scripts do all the time; a pipe can. A file that is read is passed on, so
 * that the caller finds it where the command stopped reading.
 */
static bool may_pass(int fd)
{
	struct stat st;

	return yett_stdio_check(fd, NULL) == 0 && (fd == STDIN_FILENO || (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)));
}

/* Both outputs on one terminal or in one file share a pipe, or their order would be lost. */
static bool is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino && x.st_rdev == y.st_rdev;
}

int pump_open(struct pump *pump, struct yett_error *error)
{
	int r = 0;

	pump_open_nothing(pump);
	/* a reader that went away is an error of write(2) here, not the end of this process */
	(void)signal(SIGPIPE, SIG_IGN);
	for (int i = 0; r == 0 && i < 3; i++) {
		if (fcntl(i, F_GETFD) < 0)
			continue; /* closed: the command gets /dev/null */
		if (may_pass(i))
			pump->stdio[i] = i;
		else if (i == 2 && pump->made[1] && is_same(1, 2))
			pump->stdio[2] = pump->stdio[1];
		else
			r = open_bridge(pump, i, error);
	}
	return r;
}

void pump_open_terminal(struct pump *pump, struct terminal *terminal)
{
	pump_open_nothing(pump);
	(void)signal(SIGPIPE, SIG_IGN);
	pump->terminal = terminal;
}

static int set_size(const struct pump *pump, struct yett_command *command)
{
	uint16_t rows, columns;

	terminal_get_size(pump->terminal, &rows, &columns);
	return yett_command_resize(command, rows, columns, NULL);
}

/* Joins the caller's terminal and the command's, once there is one. */
static int attach(struct pump *pump, struct yett_command *command, struct yett_error *error)
{
	int master = yett_command_terminal(command);

	if (!pump->terminal || pump->attached || master < 0)
		return 0;
	/* of our own: the command's handle is gone before its last output is written */
	pump->out.from = fcntl(master, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	pump->in.to = fcntl(master, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (pump->out.from < 0 || pump->in.to < 0 || fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot use the terminal: %m");
	pump->out.to = STDOUT_FILENO;
	pump->in.from = pump->terminal->fd;
	pump->attached = true;
	/* it may have changed since it was asked for; a command that has ended has none */
	(void)set_size(pump, command);
	return terminal_make_raw(pump->terminal, error);
}

int pump_catch_signals(struct pump *pump, struct yett_error *error)
{
	sigset_t set;

	(void)sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(passed_signals); i++)
		(void)sigaddset(&set, passed_signals[i]);
	for (size_t i = 0; pump->terminal && i < ARRAY_SIZE(terminal_signals); i++)
		(void)sigaddset(&set, terminal_signals[i]);
	(void)sigprocmask(SIG_BLOCK, &set, &pump->mask);
	pump->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (pump->signals < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE, "cannot receive signals: %m");
	return 0;
}

void pump_release_signals(struct pump *pump)
{
	if (pump->terminal)
		terminal_restore(pump->terminal);
	if (pump->signals < 0)
		return;
	pump->signals = fd_close(pump->signals);
	(void)sigprocmask(SIG_SETMASK, &pump->mask, NULL);
}

void pump_close_passed(struct pump *pump)
{
	for (int i = 0; i < 3; i++) {
		if (pump->made[i])
			fd_close(pump->stdio[i]);
		pump->made[i] = false;
	}
}

static void close_bridge(struct pump_bridge *bridge)
{
	if (bridge->from > STDERR_FILENO)
		fd_close(bridge->from);
	if (bridge->to > STDERR_FILENO)
		fd_close(bridge->to);
	bridge->from = bridge->to = -1;
}

/* Writes all of it, waiting where the terminal was made non-blocking by someone else. */
static int write_all(int fd, const char *bytes, size_t length)
{
	while (length > 0) {
		ssize_t n = write(fd, bytes, length);

		if (n < 0 && errno == EAGAIN)
			(void)poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
		else if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			bytes += n;
			length -= (size_t)n;
		}
	}
	return 0;
}

/* Some output of the command; a caller that no longer reads is told to it as a broken pipe. False if it was so. */
static bool pump_output(struct pump_bridge *bridge)
{
	ssize_t n = read(bridge->from, bridge->buffer, sizeof bridge->buffer);
	bool is_read = true;

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return true;
	if (n > 0)
		is_read = write_all(bridge->to, bridge->buffer, (size_t)n) == 0;
	if (n <= 0 || !is_read)
		close_bridge(bridge);
	return is_read;
}

/* Some input for the command, which may take it slowly. False at the end of the input. */
static bool pump_input(struct pump_bridge *bridge, short from_events, short to_events)
{
	ssize_t n;

	if (bridge->start == bridge->end && (to_events & POLLERR)) {
		close_bridge(bridge); /* nobody reads: leave the rest to whoever reads the terminal next */
		return true;
	}
	if (bridge->start == bridge->end && from_events) {
		n = read(bridge->from, bridge->buffer, sizeof bridge->buffer);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return true;
		if (n <= 0) {
			close_bridge(bridge);
			return false;
		}
		bridge->start = 0;
		bridge->end = (size_t)n;
	}
	if (bridge->start < bridge->end) {
		n = write(bridge->to, bridge->buffer + bridge->start, bridge->end - bridge->start);
		if (n > 0)
			bridge->start += (size_t)n;
		else if (n < 0 && errno != EAGAIN && errno != EINTR)
			close_bridge(bridge);
	}
	return true;
}

/* The caller's shell wants its terminal, and has it until we are continued. */
static void stop(struct pump *pump)
{
	terminal_restore(pump->terminal);
	(void)raise(SIGSTOP); /* whoever continues us sends SIGCONT, which is taken from the descriptor as well */
}

/* What a signal means where the command has a terminal. False: it is for the command. */
static bool heed_signal(struct pump *pump, struct yett_command *command, int number)
{
	switch (number) {
	case SIGWINCH:
		(void)set_size(pump, command);
		return true;
	case SIGTSTP:
		stop(pump);
		return true;
	case SIGCONT:
		if (pump->attached && terminal_make_raw(pump->terminal, NULL) != 0)
			pump->ended_by = SIGHUP;
		(void)set_size(pump, command);
		return true;
	case SIGUSR1:
	case SIGUSR2:
		return false;
	default:
		pump->ended_by = number;
		return true;
	}
}

static void pass_signals(struct pump *pump, struct yett_command *command)
{
	struct signalfd_siginfo info;

	while (read(pump->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		if (pump->terminal && heed_signal(pump, command, (int)info.ssi_signo))
			continue;
		/* one that comes too late has nobody to go to, which is no error */
		if (yett_command_signal(command, (int)info.ssi_signo, NULL) != 0)
			break;
	}
}

enum { ENTRY_SIGNALS, ENTRY_SANDBOX, ENTRY_IN_FROM, ENTRY_IN_TO, ENTRY_OUT, ENTRY_ERR, ENTRIES };

static int wait_turn(struct pump *pump, struct yett_sandbox *sandbox, struct yett_command *command, int timeout_ms)
{
	bool has_input = pump->in.start < pump->in.end;
	struct pollfd e[ENTRIES] = {
		[ENTRY_SIGNALS] = {.fd = pump->signals, .events = POLLIN},
		[ENTRY_SANDBOX] = {.fd = yett_sandbox_fd(sandbox), .events = POLLIN},
		[ENTRY_IN_FROM] = {.fd = has_input ? -1 : pump->in.from, .events = POLLIN},
		/* a pipe tells that nobody reads; of a terminal that is no news, for it may be opened again */
		[ENTRY_IN_TO] = {.fd = has_input || !pump->terminal ? pump->in.to : -1, .events = has_input ? POLLOUT : 0},
		[ENTRY_OUT] = {.fd = pump->out.from, .events = POLLIN},
		[ENTRY_ERR] = {.fd = pump->err.from, .events = POLLIN},
	};
	int n = poll(e, ENTRIES, timeout_ms);

	if (n <= 0)
		return n;
	if (e[ENTRY_SIGNALS].revents)
		pass_signals(pump, command);
	/* a terminal that hung up, or whose output nobody reads, ends the run: there is no pipe to tell the command */
	if ((e[ENTRY_IN_FROM].revents || e[ENTRY_IN_TO].revents) &&
	    !pump_input(&pump->in, e[ENTRY_IN_FROM].revents, e[ENTRY_IN_TO].revents) && pump->terminal)
		pump->ended_by = SIGHUP;
	if (e[ENTRY_OUT].revents && !pump_output(&pump->out) && pump->terminal)
		pump->ended_by = SIGPIPE;
	if (e[ENTRY_ERR].revents)
		(void)pump_output(&pump->err);
	return n;
}

int pump_run(struct pump *pump, struct yett_sandbox *sandbox, struct yett_command *command, uint64_t timeout_ms,
	     struct yett_result *ret_result, struct yett_error *error)
{
	uint64_t end = clock_now_ms() + timeout_ms;

	for (;;) {
		uint64_t now = clock_now_ms(), left = end > now ? end - now : 0;
		int r = yett_command_wait(command, 0, ret_result, error), attached = attach(pump, command, error);

		if (attached != 0)
			return attached;
		if (r != YETT_E_TIMEOUT || (timeout_ms && left == 0) || pump->ended_by)
			return r;
		/* poll(2) counts in int; a longer time just takes another turn */
		(void)wait_turn(pump, sandbox, command, !timeout_ms ? -1 : left > 1000000 ? 1000000 : (int)left);
	}
}

void pump_drain(struct pump *pump)
{
	for (;;) {
		struct pollfd e[2] = {{.fd = pump->out.from, .events = POLLIN},
				      {.fd = pump->err.from, .events = POLLIN}};
		int n;

		if (e[0].fd < 0 && e[1].fd < 0)
			return;
		n = poll(e, 2, DRAIN_TIMEOUT_MS);
		if (n == 0 || (n < 0 && errno != EINTR))
			return;
		if (n > 0 && e[0].revents)
			(void)pump_output(&pump->out);
		if (n > 0 && e[1].revents)
			(void)pump_output(&pump->err);
	}
}

void pump_close(struct pump *pump)
{
	pump_close_passed(pump);
	close_bridge(&pump->in);
	close_bridge(&pump->out);
	close_bridge(&pump->err);
	pump->signals = fd_close(pump->signals);
}
