/* SPDX-License-Identifier: Apache-2.0 */
/* See connect.h. As the caller, without privilege. */
#include "programs/net/connect.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#define V4_AT       12 /* start of the IPv4 address in its mapped form, see net_address.h */
#define SOCKET_TYPE (SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC)

union connect_sockaddr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/*
 * The only conversion from an address to what is connected to. A mapped address is always connected
 * to by IPv4.
 */
static socklen_t make_sockaddr(const struct net_address *address, uint16_t port,
                               union connect_sockaddr *ret_sockaddr)
{
	union connect_sockaddr made = {0};

	if (net_address_is_v4(address)) {
		made.v4.sin_family = AF_INET;
		made.v4.sin_port = htons(port);
		memcpy(&made.v4.sin_addr, address->bytes + V4_AT, sizeof made.v4.sin_addr);
	} else {
		made.v6.sin6_family = AF_INET6;
		made.v6.sin6_port = htons(port);
		memcpy(&made.v6.sin6_addr, address->bytes, sizeof made.v6.sin6_addr);
	}
	*ret_sockaddr = made;
	return net_address_is_v4(address) ? sizeof made.v4 : sizeof made.v6;
}

int connect_begin(const struct net_address *address, uint16_t port)
{
	union connect_sockaddr to;
	socklen_t length = make_sockaddr(address, port, &to);
	_cleanup_fd_ int fd = socket(to.any.sa_family, SOCKET_TYPE, IPPROTO_TCP);
	const int on = 1;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) < 0)
		return -errno;
	if (connect(fd, &to.any, length) < 0 && errno != EINPROGRESS)
		return -errno;
	return steal_fd(&fd);
}

int connect_result(int fd)
{
	struct tcp_info info = {0};
	socklen_t size = sizeof info, error_size = sizeof(int);
	const union connect_sockaddr nowhere = {.v4 = {.sin_family = AF_INET}};
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &error_size) < 0 ||
	    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) < 0)
		return -errno;
	if (error != 0)
		return -error;
	if (info.tcpi_state == CONNECT_SYN_SENT || info.tcpi_state == CONNECT_SYN_RECV)
		return -EINPROGRESS;
	if (info.tcpi_state == CONNECT_CLOSE)
		return -ECONNRESET;
	/*
	 * A second connect(2) makes the kernel mark the socket as connected. If the socket were
	 * reset while still marked as connecting, its holder could connect it to another address
	 * (MSG_FASTOPEN). The address of this call has no effect.
	 */
	return connect(fd, &nowhere.any, sizeof nowhere.v4) < 0 && errno != EISCONN ? -errno : 0;
}
