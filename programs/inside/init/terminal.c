/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See terminal.h. terminal_open() runs in the command's process, which has the command's ids and no
 * capability; the rest runs in init.
 */
#include "programs/inside/init/terminal.h"

#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/*
 * The byte that carries the pty master: an empty packet could not be told apart from end of file.
 */
#define TERMINAL_MARK 'T'

union terminal_control {
	struct cmsghdr align;
	uint8_t bytes[CMSG_SPACE(sizeof(int))];
};

int terminal_check(const struct message_exec *exec, struct yett_error *error)
{
	if (!exec->terminal)
		return exec->rows == 0 && exec->columns == 0
		               ? 0
		               : error_set(
					 error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
					 "rows and columns are of a terminal, and none is asked for");
	for (size_t i = 0; i < ARRAY_SIZE(exec->stdio); i++)
		if (exec->stdio[i] != STDIO_NULL)
			return error_set(
				error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
				"a command with a terminal takes no other standard streams");
	return 0;
}

static int terminal_send(int socket, int master)
{
	union terminal_control control = {0};
	char mark = TERMINAL_MARK;
	struct iovec part = {.iov_base = &mark, .iov_len = sizeof mark};
	struct msghdr header = {.msg_iov = &part,
	                        .msg_iovlen = 1,
	                        .msg_control = control.bytes,
	                        .msg_controllen = sizeof control.bytes};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&header);

	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = (socklen_t)CMSG_LEN(sizeof master);
	memcpy(CMSG_DATA(cmsg), &master, sizeof master);
	return sendmsg(socket, &header, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int terminal_open(const struct message_exec *exec, int socket)
{
	const struct winsize size = {.ws_row = (unsigned short)exec->rows,
	                             .ws_col = (unsigned short)exec->columns};
	_cleanup_fd_ int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC), slave = -1;
	int unlock = 0;

	if (master < 0 || ioctl(master, TIOCSPTLCK, &unlock) < 0)
		return -errno;
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (slave < 0 || ioctl(slave, TIOCSWINSZ, &size) < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		return -errno;
	for (int i = 0; i < 3; i++)
		if (dup2(slave, i) < 0)
			return -errno;
	return terminal_send(socket, master);
}

static void terminal_take(struct msghdr *header, int *terminal)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(header); cmsg; cmsg = CMSG_NXTHDR(header, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		*terminal = fd_close(*terminal);
		/* The buffer has room for one descriptor; the kernel closes any others. */
		memcpy(terminal, CMSG_DATA(cmsg), sizeof *terminal);
	}
}

ssize_t terminal_read(int socket, void *bytes, size_t length, int *terminal)
{
	for (;;) {
		union terminal_control control;
		struct iovec part = {.iov_base = bytes, .iov_len = length};
		struct msghdr header = {.msg_iov = &part,
		                        .msg_iovlen = 1,
		                        .msg_control = control.bytes,
		                        .msg_controllen = sizeof control.bytes};
		ssize_t n = recvmsg(socket, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

		if (n < 0)
			return n;
		terminal_take(&header, terminal);
		/*
		 * A length of 1 is TERMINAL_MARK. The mark arrives without a descriptor if init had
		 * no free descriptor.
		 */
		if (n != 1)
			return n;
	}
}
