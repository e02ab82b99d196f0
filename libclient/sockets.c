/* SPDX-License-Identifier: Apache-2.0 */
/* See relay.h, and "sockets" in yett.h. */
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "libclient/discard.h"
#include "base/failure.h"
#include "libclient/relay.h"

#define CONNECT_TIMEOUT_MS 10000

static bool sockets_has_option(int fd, int option, int wanted)
{
	int value = -1;
	socklen_t size = sizeof value;

	return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 && value == wanted;
}

bool sockets_is(int fd, int domain, bool listens)
{
	return sockets_has_option(fd, SO_DOMAIN, domain) &&
	       sockets_has_option(fd, SO_TYPE, SOCK_STREAM) &&
	       sockets_has_option(fd, SO_PROTOCOL, domain == AF_UNIX ? 0 : IPPROTO_TCP) &&
	       sockets_has_option(fd, SO_ACCEPTCONN, listens);
}

/*
 * Waits until the socket is connected. Closes the socket if the connect fails. Returns 0 or -errno.
 */
static int wait_connected(int fd)
{
	struct pollfd entry = {.fd = fd, .events = POLLOUT};
	int result = 0, n;
	socklen_t size = sizeof result;

	do
		n = poll(&entry, 1, CONNECT_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	if (n <= 0)
		result = n < 0 ? errno : ETIMEDOUT;
	else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &result, &size) < 0)
		result = errno;
	if (result)
		discard_fd(fd);
	return -result;
}

int yett_socket_connect(struct yett_sandbox *sandbox, uint16_t port, int *ret_fd,
                        struct yett_error *error)
{
	int fd, r, connected = -ECONNREFUSED;

	if (port == 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "0 is no port of a sandbox");
	for (int i = 0; connected == -ECONNREFUSED && i < 2; i++) {
		r = query_connect(sandbox, port, i == 1, &fd, error);
		if (r == YETT_E_COMMAND_FAILED && i == 1)
			break; /* the sandbox has no ::1 */
		if (r)
			return r;
		connected = wait_connected(fd);
	}
	if (connected < 0) {
		errno = -connected;
		return failure_set(error, YETT_E_COMMAND_FAILED, NULL,
		                   "nobody inside answers at port %u: %m", port);
	}
	*ret_fd = fd;
	return 0;
}
