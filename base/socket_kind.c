/* SPDX-License-Identifier: Apache-2.0 */
/* See socket_kind.h. */
#include "base/socket_kind.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* The value of a socket option of type int; -1 if the socket does not have it. */
static int socket_kind_number_of(int fd, int option)
{
	int number;
	socklen_t length = sizeof number;

	return getsockopt(fd, SOL_SOCKET, option, &number, &length) < 0 ? -1 : number;
}

enum socket_kind socket_kind(int fd)
{
	int domain = socket_kind_number_of(fd, SO_DOMAIN),
	    type = socket_kind_number_of(fd, SO_TYPE);
	bool is_stream = type == SOCK_STREAM || type == SOCK_SEQPACKET, has_peer;
	struct sockaddr_storage peer;
	socklen_t length = sizeof peer;

	if ((domain != AF_UNIX && domain != AF_INET && domain != AF_INET6 && domain != AF_VSOCK) ||
	    (!is_stream && type != SOCK_DGRAM))
		return SOCKET_OTHER;
	has_peer = getpeername(fd, (struct sockaddr *)&peer, &length) == 0;
	if (has_peer && is_stream && domain == AF_UNIX)
		return SOCKET_PEER;
	/* A stream whose connection has ended has no peer, but can still hold data to read. */
	return has_peer || (is_stream && socket_kind_number_of(fd, SO_ACCEPTCONN) == 0)
	               ? SOCKET_CONNECTED
	               : SOCKET_OTHER;
}

int socket_name_once(int fd)
{
	struct sockaddr_storage name;
	socklen_t length = sizeof name;

	if (getsockname(fd, (struct sockaddr *)&name, &length) < 0)
		return errno == ENOTSOCK ? 0 : -errno;
	if (name.ss_family != AF_UNIX || length > offsetof(struct sockaddr, sa_data))
		return 0;
	/* EINVAL: another process bound the socket meanwhile, so that it has a name now. */
	return bind(fd, (struct sockaddr *)&name, offsetof(struct sockaddr, sa_data)) < 0 &&
	                       errno != EINVAL
	               ? -errno
	               : 0;
}
