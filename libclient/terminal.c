/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett_command_terminal(), yett_command_resize(): the terminal that init hands over for a command,
 * and its size.
 *
 * Runs as the caller. The descriptor comes from the sandbox and may be anything, so it is checked
 * before use.
 */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/failure.h"
#include "libclient/sandbox.h"

/*
 * Whether `fd` is the master of a pty: character device 5, 2 (/dev/ptmx,
 * Documentation/admin-guide/devices.txt), opened for reading and writing, with the number of a
 * slave. The device number alone is not enough: an O_PATH descriptor of the node has the number,
 * but is not an open file.
 */
static bool is_master(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	unsigned number;
	struct stat st;

	return flags >= 0 && !(flags & O_PATH) && (flags & O_ACCMODE) == O_RDWR &&
	       fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(5, 2) &&
	       ioctl(fd, TIOCGPTN, &number) == 0;
}

static int libclient_terminal_set_size(int master, uint16_t rows, uint16_t columns)
{
	const struct winsize size = {.ws_row = rows, .ws_col = columns};

	return ioctl(master, TIOCSWINSZ, &size);
}

int command_take_terminal(struct yett_command *command, int fd, struct yett_error *error)
{
	_cleanup_fd_ int owned = fd;

	if (!is_master(owned) || fcntl(owned, F_SETFD, FD_CLOEXEC) < 0)
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "the sandbox answered with something else than a terminal");
	if (command->rows || command->columns)
		(void)libclient_terminal_set_size(owned, command->rows, command->columns);
	command->terminal = steal_fd(&owned);
	return 0;
}

int yett_command_terminal(const struct yett_command *command)
{
	return command->terminal;
}

int yett_command_resize(struct yett_command *command, uint16_t rows, uint16_t columns,
                        struct yett_error *error)
{
	if (!command->has_terminal)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "the command has no terminal");
	if (command_is_over(command))
		return error_set(error, YETT_E_NOT_RUNNING, YETT_R_NONE, "the command has ended");
	if (command->terminal < 0) {
		command->rows = rows;
		command->columns = columns;
		return 0;
	}
	if (libclient_terminal_set_size(command->terminal, rows, columns) < 0)
		return failure_set(error, YETT_E_COMMAND_FAILED, NULL,
		                   "the terminal cannot be resized: %m");
	return 0;
}
