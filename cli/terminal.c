/* SPDX-License-Identifier: Apache-2.0 */
/* See terminal.h. */
#include "cli/terminal.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/error.h"

int terminal_open(struct terminal *terminal, int fd, struct yett_error *error)
{
	*terminal = (struct terminal){.fd = fd, .guard = -1};
	if (tcgetattr(fd, &terminal->saved) < 0)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
			"standard input is no terminal, which a command with a terminal of its own needs: leave --tty (-t) out");
	terminal->raw = terminal->saved;
	cfmakeraw(&terminal->raw);
	/*
	 * ONLCR has no effect without OPOST. ncurses clears it too, and cli_terminal_give_back()
	 * compares the modes.
	 */
	terminal->raw.c_oflag &= ~(tcflag_t)ONLCR;
	return 0;
}

void terminal_get_size(const struct terminal *terminal, uint16_t *ret_rows, uint16_t *ret_columns)
{
	struct winsize size = {0};

	(void)ioctl(terminal->fd, TIOCGWINSZ, &size);
	*ret_rows = size.ws_row;
	*ret_columns = size.ws_col;
}

/* Ignores the control characters and c_cflag, which a driver may adapt to the device. */
bool terminal_is_as(const struct termios *now, const struct termios *raw)
{
	return now->c_iflag == raw->c_iflag && now->c_oflag == raw->c_oflag &&
	       now->c_lflag == raw->c_lflag;
}

/* Always use TCSANOW: do not wait for blocked output, and keep what was typed ahead. */
static void cli_terminal_give_back(const struct terminal *terminal)
{
	struct termios now;

	if (tcgetattr(terminal->fd, &now) == 0 && terminal_is_as(&now, &terminal->raw))
		(void)tcsetattr(terminal->fd, TCSANOW, &terminal->saved);
}

/*
 * The watcher process, in a session of its own: no signal of the terminal or of our process group
 * reaches it, and a terminal that is not its controlling terminal lets it set the modes. It holds
 * no descriptor but the terminal and the socket, so that readers of our other descriptors see end
 * of file when we die.
 */
static _Noreturn void cli_terminal_watch(const struct terminal *terminal, int socket)
{
	const int keep[] = {socket, terminal->fd};
	sigset_t all;
	ssize_t n;
	char byte;

	(void)sigfillset(&all);
	(void)sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (fd != terminal->fd)
			(void)close(fd);
	fd_close_except(keep, ARRAY_SIZE(keep));
	(void)!chdir("/");
	(void)!write(socket, "", 1); /* ready */
	do
		n = read(socket, &byte, sizeof byte);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		cli_terminal_give_back(terminal);
	_exit(0);
}

static int start_watcher(struct terminal *terminal, struct yett_error *error)
{
	int ends[2];
	ssize_t n;
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                 "cannot start what restores the terminal: %m");
	terminal->watcher = fork();
	if (terminal->watcher == 0) {
		(void)close(ends[1]);
		cli_terminal_watch(terminal, ends[0]);
	}
	fd_close(ends[0]);
	if (terminal->watcher < 0) {
		terminal->watcher = 0;
		fd_close(ends[1]);
		return error_set(error, YETT_E_RESOURCE_LIMIT, YETT_R_NONE,
		                 "cannot start what restores the terminal: %m");
	}
	terminal->guard = ends[1];
	do
		n = read(terminal->guard, &byte, sizeof byte);
	while (n < 0 && errno == EINTR);
	return n == 1 ? 0
	              : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
	                          "the process that would restore the terminal has ended");
}

int terminal_make_raw(struct terminal *terminal, struct yett_error *error)
{
	int r = terminal->watcher ? 0 : start_watcher(terminal, error);

	if (r)
		return r;
	if (tcsetattr(terminal->fd, TCSANOW, &terminal->raw) < 0)
		return errno == EINTR ? -EINTR
		                      : error_set(error, YETT_E_FILE_OPERATION_FAILED, YETT_R_NONE,
		                                  "cannot make the terminal raw: %m");
	terminal->is_raw = true;
	return 0;
}

void terminal_restore(struct terminal *terminal)
{
	sigset_t set, before;

	if (!terminal->is_raw)
		return;
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTTOU);
	/* Without this, SIGTTOU would stop us in the background. */
	(void)sigprocmask(SIG_BLOCK, &set, &before);
	cli_terminal_give_back(terminal);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	terminal->is_raw = false;
}

void terminal_close(struct terminal *terminal)
{
	terminal_restore(terminal);
	if (!terminal->watcher)
		return;
	(void)!write(terminal->guard, "", 1); /* SIGPIPE is ignored meanwhile: run.c, top.c */
	terminal->guard = fd_close(terminal->guard);
	while (waitpid(terminal->watcher, NULL, 0) < 0 && errno == EINTR)
		;
	terminal->watcher = 0;
}

bool terminal_type(const char *value, char *out, size_t size)
{
	static const char name[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";

	if (!value || !*value || value[strspn(value, name)])
		return false;
	return (size_t)snprintf(out, size, "TERM=%s", value) < size;
}
