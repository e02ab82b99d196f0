/* SPDX-License-Identifier: Apache-2.0 */
/* See pump.h. */
#include "cli/run/pump.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/socket_kind.h"

/* How long pump_drain() waits for a writer that outlived its sandbox. */
#define DRAIN_TIMEOUT_MS 1000

/*
 * How often to check whether we may read the terminal again. Nothing reports a change of its
 * foreground process group.
 */
#define LOOK_AGAIN_MS 250

/*
 * More than any script or source file has. Copying a larger file could take longer than the
 * command.
 */
#define INPUT_COPIED_MAX (16 << 20)

static const int ending_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int other_signals[] = {SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT, SIGWINCH};

void pump_open_nothing(struct pump *pump)
{
	pump->signals = -1;
	for (int i = 0; i < 3; i++) {
		pump->stdio[i] = YETT_STDIO_NULL;
		pump->made[i] = false;
	}
	pump->copy = -1;
	pump->in.from = pump->in.to = pump->out.from = pump->out.to = pump->err.from =
		pump->err.to = -1;
	pump->in.start = pump->in.end = 0;
	pump->in.is_terminal = pump->out.is_terminal = pump->err.is_terminal = false;
	pump->in.is_datagram = pump->out.is_datagram = pump->err.is_datagram = false;
	pump->out.start = pump->out.end = pump->err.start = pump->err.end = 0;
	pump->terminal = NULL;
	pump->attached = false;
	pump->is_shown = isatty(STDOUT_FILENO);
	pump->ended_by = pump->lost = 0;
	pump->term_by_ms = UINT64_MAX;
}

/*
 * Writes without blocking. poll(2) does not say how much a socket accepts, and the socket belongs
 * to the caller and may be in blocking mode.
 */
static ssize_t pump_write_some(int fd, const char *bytes, size_t length)
{
	ssize_t n = send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ECONNREFUSED) /* an earlier datagram's error, reported once */
		n = send(fd, bytes, length, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n < 0 && errno == ENOTSOCK ? write(fd, bytes, length) : n;
}

/*
 * Reads without blocking. Other processes may share the socket and have read the data that poll(2)
 * reported.
 */
static ssize_t pump_read_some(int fd, char *bytes, size_t length)
{
	ssize_t n = recv(fd, bytes, length, MSG_DONTWAIT);

	return n < 0 && errno == ENOTSOCK ? read(fd, bytes, length) : n;
}

static bool is_datagram(int fd)
{
	socklen_t length = sizeof(int);
	int type;

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_DGRAM;
}

/*
 * Returns the caller's descriptor for a bridge. For a terminal, returns one that never blocks, if
 * it can be opened.
 */
static int open_end(struct pump_bridge *bridge, int fd, int flags)
{
	int own = job_open_terminal(fd, flags);

	bridge->is_terminal = isatty(fd);
	return own < 0 ? fd : own;
}

/* Refuses a socket that listens or can send to any address: no pipe can replace it. */
static int check_bridged(int fd, struct yett_error *error)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && socket_kind(fd) == SOCKET_OTHER
	               ? yett_stdio_check(fd, error)
	               : 0;
}

/* Makes a pipe between our descriptor `i` and the command. */
static int open_bridge(struct pump *pump, int i, struct yett_error *error)
{
	struct pump_bridge *bridge = i == 0 ? &pump->in : i == 1 ? &pump->out : &pump->err;
	int ends[2], r = check_bridged(i, error);

	if (r)
		return r;
	/*
	 * Each write of the command becomes one datagram, as far as the pipe keeps writes apart:
	 * pipe(7), O_DIRECT.
	 */
	bridge->is_datagram = i > 0 && is_datagram(i);
	if (pipe2(ends, bridge->is_datagram ? O_CLOEXEC | O_DIRECT : O_CLOEXEC) < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "cannot make the pipes for the outputs of the command: %m");
	bridge->from = i == 0 ? open_end(bridge, i, O_RDONLY) : ends[0];
	bridge->to = i == 0 ? ends[1] : open_end(bridge, i, O_WRONLY);
	/*
	 * A command that does not read must not keep us from pumping its output. O_NONBLOCK does
	 * not affect the other end of the pipe.
	 */
	if (i == 0)
		(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	pump->stdio[i] = ends[i == 0 ? 0 : 1];
	pump->made[i] = true;
	return 0;
}

/*
 * Whether the command may hold the caller's descriptor. A regular file for output may not be
 * passed: it is located outside the sandbox, so the command could not open it again as /dev/stdout
 * or /dev/stderr, as scripts often do. A pipe can be opened again. An input file is passed, or a
 * copy of it (copy_input()); either way the caller finds the file offset where the command stopped
 * reading. A socket that could be connected elsewhere is not passed: only its data goes inside.
 */
static bool may_pass(int fd)
{
	struct stat st;

	return yett_stdio_check(fd, NULL) == 0 && socket_name_once(fd) == 0 &&
	       (fd == STDIN_FILENO || (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)));
}

/* If both outputs go to the same terminal or file, they must share one pipe to keep their order. */
static bool pump_is_same(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino && x.st_rdev == y.st_rdev;
}

/*
 * Whether another process has the file open for writing. True if the file cannot be opened again.
 * False if it belongs to another user, because the kernel refuses the lease then. fcntl(2),
 * "Leases"
 */
static bool is_being_written(int fd)
{
	const struct timespec at_once = {0};
	/*
	 * The caller may hold a lease through its descriptor. Removing ours there would remove the
	 * caller's, so use another open file description.
	 */
	_cleanup_fd_ int own = -1;
	sigset_t io, before;
	char path[32];
	bool is_written;

	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	own = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (own < 0)
		return true;

	/* A process that opens the file for writing now breaks our lease, which sends us SIGIO. */
	(void)sigemptyset(&io);
	(void)sigaddset(&io, SIGIO);
	(void)sigprocmask(SIG_BLOCK, &io, &before);
	is_written = fcntl(own, F_SETLEASE, F_RDLCK) < 0 && errno == EAGAIN;
	if (!is_written)
		(void)fcntl(own, F_SETLEASE, F_UNLCK);
	(void)sigtimedwait(&io, NULL, &at_once);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	return is_written;
}

/*
 * Copies the input file to a sealed memfd. The command could read the file by its descriptor, but
 * could not open it again as /dev/stdin: the file is located outside the sandbox, may have no path
 * any more (a here-document), and its owner is not mapped inside. The command can open the memfd,
 * which the seals make read-only. Returns -1 if the input is not a regular file, or the file is
 * empty, too large, open for writing here or elsewhere, or cannot be copied. pump_open() then
 * passes or bridges the descriptor itself.
 */
static int copy_input(int fd)
{
	_cleanup_fd_ int memory = -1;
	char path[32];
	struct stat st;
	off_t offset = lseek(fd, 0, SEEK_CUR), done = 0;
	int copy;

	if (yett_stdio_check(fd, NULL) != 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size == 0 || st.st_size > INPUT_COPIED_MAX || offset < 0 ||
	    (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY || is_being_written(fd))
		return -1;
	memory = memfd_create("yett-input", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	while (memory >= 0 && done < st.st_size &&
	       sendfile(memory, fd, &done, (size_t)(st.st_size - done)) > 0)
		;
	(void)snprintf(path, sizeof path, "/proc/self/fd/%d", memory);
	if (memory < 0 || done != st.st_size ||
	    fcntl(memory, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
	            0)
		return -1;
	copy = open(path, O_RDONLY | O_CLOEXEC);
	if (copy >= 0 && lseek(copy, offset, SEEK_SET) < 0)
		copy = fd_close(copy);
	return copy;
}

int pump_open(struct pump *pump, bool no_input, struct yett_error *error)
{
	int r = 0;

	pump_open_nothing(pump);
	for (int i = no_input; r == 0 && i < 3; i++) {
		if (fcntl(i, F_GETFD) < 0)
			continue; /* closed: the command gets /dev/null */
		pump->copy = i == 0 ? copy_input(i) : pump->copy;
		if (i == 0 && pump->copy >= 0)
			pump->stdio[i] = pump->copy;
		else if (may_pass(i))
			pump->stdio[i] = i;
		else if (i == 2 && pump->made[1] && pump_is_same(1, 2))
			pump->stdio[2] = pump->stdio[1];
		else
			r = open_bridge(pump, i, error);
	}
	return r;
}

void pump_open_terminal(struct pump *pump, struct terminal *terminal)
{
	pump_open_nothing(pump);
	pump->terminal = terminal;
}

static int pump_set_size(const struct pump *pump, struct yett_command *command)
{
	uint16_t rows, columns;

	terminal_get_size(pump->terminal, &rows, &columns);
	return yett_command_resize(command, rows, columns, NULL);
}

/* Stops this process until it is continued. Restores the caller's terminal first. */
static void pump_stop(struct pump *pump, int number)
{
	if (pump->terminal)
		terminal_restore(pump->terminal);
	job_stop(number);
}

/* Opens the ends at the caller's terminal and at the command's, once the command has one. */
static int open_terminal_ends(struct pump *pump, int master, struct yett_error *error)
{
	int r = check_bridged(STDOUT_FILENO, error);

	if (r)
		return r;
	/* Duplicate the master: the command handle is freed before the last output is written. */
	pump->out.from = fcntl(master, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	pump->in.to = fcntl(master, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (pump->out.from < 0 || pump->in.to < 0 ||
	    fcntl(master, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "cannot pass the terminal on to the command: %m");
	pump->out.to = open_end(&pump->out, STDOUT_FILENO, O_WRONLY);
	pump->in.from = open_end(&pump->in, pump->terminal->fd, O_RDONLY);
	pump->attached = true;
	return 0;
}

/*
 * Connects the caller's terminal to the command's; again after each stop. In the background, stops
 * until we are in the foreground.
 */
static int pump_attach(struct pump *pump, struct yett_command *command, struct yett_error *error)
{
	int master = yett_command_terminal(command), r = 0;

	if (!pump->terminal || pump->terminal->is_raw || pump->ended_by ||
	    (!pump->attached && master < 0))
		return 0;
	if (!pump->attached)
		r = open_terminal_ends(pump, master, error);
	if (r == 0)
		r = terminal_make_raw(pump->terminal, error);
	if (r == -EINTR) {
		pump_stop(pump, SIGTTOU);
		return 0;
	}
	/*
	 * The size may have changed since the request. Setting it fails if the command has ended.
	 */
	if (r == 0)
		(void)pump_set_size(pump, command);
	return r;
}

/*
 * Adds the signals that are not ignored. nohup(1) and shells without job control ignore some
 * deliberately.
 */
static void add_signals(sigset_t *set, const int *numbers, size_t count)
{
	struct sigaction action;

	for (size_t i = 0; i < count; i++)
		if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
			(void)sigaddset(set, numbers[i]);
}

int pump_catch_signals(struct pump *pump, struct yett_error *error)
{
	sigset_t set;

	(void)sigemptyset(&set);
	add_signals(&set, ending_signals, ARRAY_SIZE(ending_signals));
	add_signals(&set, other_signals, ARRAY_SIZE(other_signals));
	(void)sigprocmask(SIG_BLOCK, &set, &pump->mask);
	pump->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (pump->signals < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "cannot receive the signals that are for the command: %m");
	job_catch(&pump->job);
	return 0;
}

static bool is_ending(int number)
{
	for (size_t i = 0; i < ARRAY_SIZE(ending_signals); i++)
		if (ending_signals[i] == number)
			return true;
	return false;
}

void pump_release_signals(struct pump *pump)
{
	struct signalfd_siginfo info;
	int late = 0;

	if (pump->signals < 0)
		return;
	while (read(pump->signals, &info, sizeof info) == (ssize_t)sizeof info)
		late = is_ending((int)info.ssi_signo) ? (int)info.ssi_signo : late;
	pump->signals = fd_close(pump->signals);
	/*
	 * Keep SIGUSR1 and SIGUSR2 blocked: one that arrives too late for the command must not end
	 * us.
	 */
	(void)sigaddset(&pump->mask, SIGUSR1);
	(void)sigaddset(&pump->mask, SIGUSR2);
	(void)sigprocmask(SIG_SETMASK, &pump->mask, NULL);
	if (late)
		(void)raise(late);
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

/*
 * Moves available output without waiting. Returns 0, or the -errno of a write. -EINTR: the terminal
 * belongs to another process group.
 */
static int move_output(struct pump_bridge *bridge)
{
	ssize_t n;

	if (bridge->start == bridge->end) {
		n = read(bridge->from, bridge->buffer,
		         bridge->is_datagram ? PIPE_BUF : sizeof bridge->buffer);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return 0;
		if (n <= 0) {
			close_bridge(bridge);
			return 0;
		}
		bridge->start = 0;
		bridge->end = (size_t)n;
	}
	n = pump_write_some(bridge->to, bridge->buffer + bridge->start,
	                    bridge->end - bridge->start);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	bridge->start += (size_t)n;
	return 0;
}

/*
 * Whether SIGTERM has arrived. After that, a terminal that accepts no output no longer delays the
 * end.
 */
static bool is_to_end(const struct pump *pump)
{
	return pump->term_by_ms != UINT64_MAX;
}

/*
 * If the caller stops reading, closes the pipe, so that the command gets EPIPE. A command with a
 * terminal has no pipe, so the run ends.
 */
static void pump_output(struct pump *pump, struct pump_bridge *bridge)
{
	int to = bridge->to, r = move_output(bridge);
	bool is_gone = r == -EPIPE || r == -ECONNRESET ||
	               (r == -EIO && bridge->is_terminal && pump->terminal);
	bool is_kept_off = r == -EINTR && bridge->is_terminal && !job_is_foreground(to);

	if (is_kept_off && !is_to_end(pump))
		pump_stop(pump, SIGTTOU);
	if (r == 0 || (r == -EINTR && !(is_kept_off && is_to_end(pump))))
		return;
	bridge->start = bridge->end = 0;
	close_bridge(bridge);
	if (pump->terminal)
		pump->ended_by = SIGPIPE;
	if (!pump->lost && !is_kept_off && !is_gone)
		pump->lost = -r;
}

/* Moves some input to the command, which may read slowly. Returns false at the end of the input. */
static bool pump_input(struct pump_bridge *bridge, short from_events, short to_events)
{
	ssize_t n;

	if (bridge->start == bridge->end && (to_events & POLLERR)) {
		/*
		 * The command does not read any more: leave the input to the next reader of the
		 * terminal.
		 */
		close_bridge(bridge);
		return true;
	}
	if (bridge->start == bridge->end && from_events) {
		n = pump_read_some(bridge->from, bridge->buffer, sizeof bridge->buffer);
		/*
		 * A datagram socket has no end of file. With POLLRDHUP, EAGAIN means that it was
		 * shut down, and that nobody can send any more.
		 */
		if (n < 0 && (errno == EINTR || errno == ECONNREFUSED ||
		              (errno == EAGAIN && !(from_events & POLLRDHUP))))
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

/*
 * Stops the command together with us, as a shell stops all processes of a job. Continues the
 * command even if the kernel did not stop us.
 */
static void heed_stop(struct pump *pump, struct yett_command *command)
{
	if (!pump->terminal)
		(void)!yett_command_signal(command, SIGSTOP, NULL);
	pump_stop(pump, SIGTSTP);
	if (!pump->terminal)
		(void)!yett_command_signal(command, SIGCONT, NULL);
}

/* Handles a signal that concerns us. Returns false if the signal is for the command. */
static bool heed_signal(struct pump *pump, struct yett_command *command, int number)
{
	switch (number) {
	case SIGWINCH:
		if (pump->terminal)
			(void)pump_set_size(pump, command);
		return true;
	case SIGTSTP:
		heed_stop(pump, command);
		return true;
	case SIGCONT:
		if (!pump->terminal)
			return false;
		/*
		 * After SIGSTOP we could not restore the terminal, and another process may have set
		 * its modes.
		 */
		pump->terminal->is_raw = false;
		return true;
	case SIGUSR1:
	case SIGUSR2:
		return false;
	default:
		if (pump->terminal)
			pump->ended_by = number;
		if (number == SIGTERM && !is_to_end(pump))
			pump->term_by_ms = clock_now_ms() + PUMP_TERM_GRACE_MS;
		return pump->terminal;
	}
}

static void pass_signals(struct pump *pump, struct yett_command *command)
{
	struct signalfd_siginfo info;

	while (read(pump->signals, &info, sizeof info) == (ssize_t)sizeof info) {
		if (heed_signal(pump, command, (int)info.ssi_signo))
			continue;
		/*
		 * A signal that arrives after the command's end has no receiver, which is no error.
		 */
		if (yett_command_signal(command, (int)info.ssi_signo, NULL) != 0)
			break;
	}
}

/*
 * Whether we may read the input. If our output goes to a pager, the pager reads the terminal key by
 * key (ICANON is off); reading too would take keys from it.
 */
static bool pump_may_read(const struct pump *pump)
{
	struct termios modes;

	if (pump->terminal)
		return pump->terminal->is_raw;
	if (!pump->in.is_terminal)
		return true;
	if (!job_is_foreground(pump->in.from))
		return false;
	return pump->is_shown || tcgetattr(pump->in.from, &modes) < 0 || (modes.c_lflag & ICANON);
}

enum {
	ENTRY_SIGNALS,
	ENTRY_SANDBOX,
	ENTRY_BLOCKED,
	ENTRY_RELAYS,
	ENTRY_IN_FROM,
	ENTRY_IN_TO,
	ENTRY_OUT,
	ENTRY_ERR,
	ENTRIES
};

/* Returns what to poll for: more output or, if output is pending, room to write it. */
static struct pollfd output_entry(const struct pump_bridge *bridge)
{
	bool is_full = bridge->start < bridge->end;

	return (struct pollfd){.fd = is_full ? bridge->to : bridge->from,
	                       .events = is_full ? POLLOUT : POLLIN};
}

static void wait_turn(struct pump *pump, struct yett_sandbox *sandbox, struct yett_command *command,
                      int timeout_ms)
{
	bool has_input = pump->in.start < pump->in.end, reads = pump_may_read(pump);
	struct pollfd e[ENTRIES] = {
		[ENTRY_SIGNALS] = {.fd = pump->signals, .events = POLLIN},
		[ENTRY_SANDBOX] = {.fd = yett_sandbox_fd(sandbox), .events = POLLIN},
		[ENTRY_BLOCKED] = {.fd = pump->blocked ? blocked_fd(pump->blocked) : -1,
	                           .events = POLLIN},
		[ENTRY_RELAYS] = {.fd = pump->relays ? relays_fd(pump->relays) : -1,
	                          .events = POLLIN},
		[ENTRY_IN_FROM] = {.fd = has_input || !reads ? -1 : pump->in.from,
	                           .events = POLLIN | POLLRDHUP},
		/* POLLERR of a pipe: no reader is left. A terminal can get a new reader. */
		[ENTRY_IN_TO] = {.fd = has_input || !pump->terminal ? pump->in.to : -1,
	                         .events = has_input ? POLLOUT : 0},
		[ENTRY_OUT] = output_entry(&pump->out),
		[ENTRY_ERR] = output_entry(&pump->err),
	};

	if (!reads && !pump->terminal && pump->in.from >= 0 &&
	    (timeout_ms < 0 || timeout_ms > LOOK_AGAIN_MS))
		timeout_ms = LOOK_AGAIN_MS;
	if (poll(e, ENTRIES, timeout_ms) <= 0)
		return;
	if (e[ENTRY_SIGNALS].revents) {
		pass_signals(pump, command);
		return; /* the foreground process group may have changed */
	}
	if (e[ENTRY_BLOCKED].revents)
		blocked_read(pump->blocked);
	if (e[ENTRY_RELAYS].revents)
		relays_dispatch(pump->relays);
	if (e[ENTRY_IN_FROM].revents && !pump_may_read(pump))
		e[ENTRY_IN_FROM].revents = 0; /* no longer in the foreground */
	/*
	 * A hangup of the caller's terminal ends the run: there is no pipe to close for the
	 * command.
	 */
	if ((e[ENTRY_IN_FROM].revents || e[ENTRY_IN_TO].revents) &&
	    !pump_input(&pump->in, e[ENTRY_IN_FROM].revents, e[ENTRY_IN_TO].revents) &&
	    pump->terminal)
		pump->ended_by = SIGHUP;
	if (e[ENTRY_OUT].revents)
		pump_output(pump, &pump->out);
	if (e[ENTRY_ERR].revents)
		pump_output(pump, &pump->err);
}

/*
 * Returns the timeout for poll(2), which is an int. A longer time is cut to 1000 s, and the caller
 * polls again.
 */
static int pump_time_left(uint64_t now_ms, uint64_t end_ms)
{
	return end_ms == UINT64_MAX        ? -1
	       : end_ms <= now_ms          ? 0
	       : end_ms - now_ms > 1000000 ? 1000000
	                                   : (int)(end_ms - now_ms);
}

int pump_run(struct pump *pump, struct yett_sandbox *sandbox, struct yett_command *command,
             uint64_t timeout_ms, struct yett_result *ret_result, struct yett_error *error)
{
	uint64_t end_ms = timeout_ms ? clock_now_ms() + timeout_ms : UINT64_MAX;

	for (;;) {
		const struct yett_result *result;
		int r = yett_command_wait(command, 0, &result, error),
		    attached = pump_attach(pump, command, error);
		uint64_t now_ms = clock_now_ms();

		if (r == 0)
			*ret_result = *result;
		if (attached != 0)
			return attached;
		if (now_ms >= pump->term_by_ms)
			pump->ended_by = SIGTERM;
		if (r != YETT_E_TIMEOUT || now_ms >= end_ms || pump->ended_by)
			return r;
		wait_turn(pump, sandbox, command,
		          pump_time_left(now_ms,
		                         end_ms < pump->term_by_ms ? end_ms : pump->term_by_ms));
	}
}

void pump_drain(struct pump *pump)
{
	for (;;) {
		struct pollfd e[2] = {output_entry(&pump->out), output_entry(&pump->err)};
		bool is_full = (e[0].events | e[1].events) & POLLOUT;
		int n;

		if (e[0].fd < 0 && e[1].fd < 0)
			return;
		/*
		 * The caller may read slowly. A writer that outlived its sandbox gets
		 * DRAIN_TIMEOUT_MS.
		 */
		n = poll(e, 2, is_full && !is_to_end(pump) ? -1 : DRAIN_TIMEOUT_MS);
		if (n == 0 || (n < 0 && errno != EINTR))
			return;
		if (n > 0 && e[0].revents)
			pump_output(pump, &pump->out);
		if (n > 0 && e[1].revents)
			pump_output(pump, &pump->err);
	}
}

void pump_close(struct pump *pump)
{
	pump_close_passed(pump);
	if (pump->copy >= 0)
		(void)lseek(STDIN_FILENO, lseek(pump->copy, 0, SEEK_CUR), SEEK_SET);
	pump->copy = fd_close(pump->copy);
	close_bridge(&pump->in);
	close_bridge(&pump->out);
	close_bridge(&pump->err);
	pump->signals = fd_close(pump->signals);
	job_release(&pump->job);
}
