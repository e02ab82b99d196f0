/* See socket_kind.h. */
#include "base/socket_kind.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum socket_kind socket_kind(int fd)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof peer, domain_length = sizeof(int), type_length = sizeof(int);
	int domain, type;
	bool is_stream;

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &domain_length) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_length) < 0 || getpeername(fd, (struct sockaddr *)&peer, &length) < 0)
		return SOCKET_OTHER;
	is_stream = type == SOCK_STREAM || type == SOCK_SEQPACKET;
	if (domain == AF_UNIX && is_stream)
		return SOCKET_PEER;
	if (domain != AF_UNIX && domain != AF_INET && domain != AF_INET6 && domain != AF_VSOCK)
		return SOCKET_OTHER;
	return is_stream || type == SOCK_DGRAM ? SOCKET_CONNECTED : SOCKET_OTHER;
}

int socket_name_once(int fd)
{
	struct sockaddr_storage name;
	socklen_t length = sizeof name;

	if (getsockname(fd, (struct sockaddr *)&name, &length) < 0)
		return errno == ENOTSOCK ? 0 : -errno;
	if (name.ss_family != AF_UNIX || length > offsetof(struct sockaddr, sa_data))
		return 0;
	/* EINVAL: somebody else has named it meanwhile. */
	return bind(fd, (struct sockaddr *)&name, offsetof(struct sockaddr, sa_data)) < 0 && errno != EINVAL ? -errno : 0;
}
