/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's terminal, played by a pty: raw, as it was, and the pure parts. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/error.h"
#include "base/fd.h"
#include "cli/terminal.h"
#include "tests/support/testing.h"

/* master and slave; the slave is what a caller has */
static int open_pty(int ends[2])
{
	(void)signal(SIGPIPE, SIG_IGN); /* as the command has it */
	ends[0] = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (ends[0] < 0 || unlockpt(ends[0]) < 0)
		return -errno;
	ends[1] = open(ptsname(ends[0]), O_RDWR | O_NOCTTY | O_CLOEXEC);
	return ends[1] < 0 ? -errno : 0;
}

static void close_pty(int ends[2])
{
	fd_close(ends[0]);
	fd_close(ends[1]);
}

TEST(it_is_raw_and_then_as_it_was)
{
	struct yett_error error;
	struct terminal terminal;
	struct termios before, now;
	int ends[2];

	assert_int_equal(open_pty(ends), 0);
	assert_return_code(tcgetattr(ends[1], &before), errno);
	assert_int_equal(terminal_open(&terminal, ends[1], &error), 0);
	assert_return_code(tcgetattr(ends[1], &now), errno);
	assert_memory_equal(&now, &before, sizeof now);
	for (int i = 0; i < 2; i++) { /* as after a stop */
		assert_int_equal(terminal_make_raw(&terminal, &error), 0);
		assert_return_code(tcgetattr(ends[1], &now), errno);
		assert_int_equal(now.c_lflag & (ICANON | ECHO | ISIG), 0);
		assert_true(terminal_is_as(&now, &terminal.raw));
		terminal_restore(&terminal);
		assert_return_code(tcgetattr(ends[1], &now), errno);
		assert_memory_equal(&now, &before, sizeof now);
	}
	terminal_close(&terminal);
	terminal_close(&terminal); /* nothing is left to be closed */
	assert_int_equal(terminal.watcher, 0);
	close_pty(ends);
}

TEST(modes_that_somebody_else_set_stay)
{
	struct yett_error error;
	struct terminal terminal;
	struct termios other, now;
	int ends[2];

	assert_int_equal(open_pty(ends), 0);
	assert_int_equal(terminal_open(&terminal, ends[1], &error), 0);
	assert_int_equal(terminal_make_raw(&terminal, &error), 0);
	other = terminal.raw;
	other.c_lflag |= ISIG;
	assert_return_code(tcsetattr(ends[1], TCSANOW, &other), errno);
	assert_return_code(tcgetattr(ends[1], &other), errno);
	terminal_close(&terminal);
	assert_return_code(tcgetattr(ends[1], &now), errno);
	assert_memory_equal(&now, &other, sizeof now);
	close_pty(ends);
}

TEST(what_is_no_terminal_is_refused)
{
	struct yett_error error = {0};
	struct terminal terminal;
	int fds[] = {open("/dev/null", O_RDWR | O_CLOEXEC), -1};

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		assert_int_equal(terminal_open(&terminal, fds[i], &error), YETT_E_INVALID_REQUEST);
		assert_non_null(strstr(error.message, "no terminal"));
		terminal_close(&terminal);
	}
	fd_close(fds[0]);
}

TEST(its_size_is_told)
{
	const struct winsize size = {.ws_row = 1, .ws_col = 65535};
	struct yett_error error;
	struct terminal terminal;
	uint16_t rows, columns;
	int ends[2];

	assert_int_equal(open_pty(ends), 0);
	assert_int_equal(terminal_open(&terminal, ends[1], &error), 0);
	assert_return_code(ioctl(ends[0], TIOCSWINSZ, &size), errno);
	terminal_get_size(&terminal, &rows, &columns);
	assert_int_equal(rows, 1);
	assert_int_equal(columns, 65535);
	close_pty(ends);
	terminal_get_size(&terminal, &rows, &columns);
	assert_int_equal(rows, 0);
}

TEST(the_kind_of_a_terminal_is_a_name)
{
	static const char *const good[] = {"xterm-256color", "vt100", "screen.xterm", "a+b_C"};
	static const char *const bad[] = {
		NULL, "", "x y", "x=y", "x\n", "/etc/passwd", "a-name-that-is-too-long-for-it"};
	char text[24];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(terminal_type(good[i], text, sizeof text));
		assert_memory_equal(text, "TERM=", 5);
		assert_string_equal(text + 5, good[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_false(terminal_type(bad[i], text, sizeof text));
}

TEST_MAIN(NULL, NULL)
