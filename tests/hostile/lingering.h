/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What takes an hour to close: the means of whoever wants another to be busy with that. For
 * programs of these tests.
 */
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A TCP connection to a port of this machine, with as much under way as there is room for, which is
 * never read there. socket(7), SO_LINGER
 */
static inline int make_lingering_to(in_port_t port)
{
	static const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
	static const char data[4096];
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port};
	const int small = 4096; /* what is under way is memory of the host until the other end is
	                           gone, and other tests count that */
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
		_exit(3);
	while (send(fd, data, sizeof data, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0)
		_exit(3);
	return fd;
}

/* The other end is our own: it lingers as long as we are there. */
static inline int make_lingering(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd;

	if (bind(listening, (struct sockaddr *)&address, size) < 0 || listen(listening, 1) < 0 ||
	    getsockname(listening, (struct sockaddr *)&address, &size) < 0)
		_exit(3);
	fd = make_lingering_to(address.sin_port);
	if (accept(listening, NULL, NULL) < 0)
		_exit(3);
	return fd;
}
