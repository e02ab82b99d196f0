/* SPDX-License-Identifier: Apache-2.0 */
/* See net_listen.h. */
#include "base/net_listen.h"

#include <netinet/in.h>
#include <sys/socket.h>

#define SERVER_V4 0xC6120002u /* 198.18.0.2: EGRESS_SERVER_V4 */

/*
 * Returns a bound socket, a TCP socket also listening, or -errno. TCP sockets are bound to an
 * address that no interface has, at a port of the kernel's choice (`port` is 0), so that they
 * cannot collide with a server of a command. SO_REUSEADDR and SO_REUSEPORT stay unset, so that no
 * other socket can share the address.
 */
static int net_listen_open_socket(int family, int type, uint16_t port)
{
	/*
	 * IP_FREEBIND: 198.18.0.2 and fd79:6574:7400::2 need not exist yet. The DNS socket is bound
	 * to the wildcard address; IP_PKTINFO tells which address a query was sent to, so that the
	 * answer can come from there.
	 */
	const struct sockaddr_in v4 = {
		AF_INET, htons(port), {type == SOCK_STREAM ? htonl(SERVER_V4) : INADDR_ANY}, {0}};
	struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const int on = 1, only_v6 = type == SOCK_STREAM;
	_cleanup_fd_ int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (type == SOCK_STREAM)
		v6.sin6_addr =
			(struct in6_addr){.s6_addr = {0xfd, 0x79, 0x65, 0x74, 0x74, [15] = 2}};
	if (fd < 0 || setsockopt(fd, IPPROTO_IP, IP_FREEBIND, &on, sizeof on) < 0 ||
	    setsockopt(fd, IPPROTO_IP, IP_PKTINFO, &on, sizeof on) < 0 ||
	    (family == AF_INET6 &&
	     (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, sizeof only_v6) < 0 ||
	      setsockopt(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof on) < 0)) ||
	    bind(fd,
	         family == AF_INET ? (const struct sockaddr *)&v4 : (const struct sockaddr *)&v6,
	         family == AF_INET ? sizeof v4 : sizeof v6) < 0 ||
	    (type == SOCK_STREAM && listen(fd, NET_LISTEN_BACKLOG) < 0))
		return -errno;
	return steal_fd(&fd);
}

int net_listen_open(int ret_sockets[static NET_LISTEN_SOCKETS])
{
	int tcp6 = net_listen_open_socket(AF_INET6, SOCK_STREAM, 0);
	bool has_v6 = tcp6 >= 0;

	ret_sockets[NET_LISTEN_TCP6] = has_v6 ? tcp6 : -1;
	ret_sockets[NET_LISTEN_TCP4] = tcp6 >= 0 || tcp6 == -EAFNOSUPPORT
	                                       ? net_listen_open_socket(AF_INET, SOCK_STREAM, 0)
	                                       : tcp6;
	ret_sockets[NET_LISTEN_DNS] = net_listen_open_socket(has_v6 ? AF_INET6 : AF_INET,
	                                                     SOCK_DGRAM, NET_LISTEN_PORT_DNS);
	return ret_sockets[NET_LISTEN_TCP4] < 0  ? ret_sockets[NET_LISTEN_TCP4]
	       : ret_sockets[NET_LISTEN_DNS] < 0 ? ret_sockets[NET_LISTEN_DNS]
	                                         : 0;
}
