/* SPDX-License-Identifier: Apache-2.0 */
/* See program.h. */
#include "helper/privilege/program.h"
#include "base/clock.h"
#include "base/spawn.h"

#include <sys/socket.h>

int program_start(const char *folder, char *const argv[], const int *fds, size_t count,
                  struct program *ret_program)
{
	char path[PATH_MAX];
	int pair[2], r;

	*ret_program = PROGRAM_NONE;
	FORMAT(path, "%s/%s", folder, argv[0]);
	if (fd_pair(pair) < 0)
		return -errno;
	r = spawn(path, argv, pair[1], fds, count, &ret_program->pid);
	fd_close(pair[1]);
	if (r < 0)
		return fd_close(pair[0]), *ret_program = PROGRAM_NONE, r;
	ret_program->socket = pair[0];
	return 0;
}

int program_ask(const struct program *program, const struct iovec *parts, unsigned count)
{
	struct msghdr header = {.msg_iov = (struct iovec *)(uintptr_t)parts, .msg_iovlen = count};
	char unasked;

	if (recv(program->socket, &unasked, sizeof unasked, MSG_DONTWAIT | MSG_PEEK) > 0)
		return -EPROTO;
	if (sendmsg(program->socket, &header, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		return errno == ECONNRESET ? -EPIPE : -errno;
	return 0;
}

ssize_t program_hear(const struct program *program, struct iovec *parts, unsigned count,
                     uint64_t deadline_ms)
{
	struct msghdr header = {.msg_iov = parts, .msg_iovlen = count};
	ssize_t n;

	do {
		uint64_t now = clock_now_ms();

		n = fd_poll(program->socket, POLLIN,
		            now < deadline_ms ? (int)(deadline_ms - now) : 0);
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		n = recvmsg(program->socket, &header, MSG_DONTWAIT);
	else
		return n == 0 ? -ETIMEDOUT : -errno;
	if (n <= 0)
		return n == 0 || errno == ECONNRESET ? -EPIPE : -errno;
	return header.msg_flags & MSG_TRUNC ? -EPROTO : n;
}
