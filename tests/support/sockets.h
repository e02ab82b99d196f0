/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that can reach others than one peer, of each kind, for tests of who may hold them. */
#pragma once

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKETS_REACHING = 10 };

/* The `i`-th; the caller closes it. */
static inline int sockets_reaching_open(size_t i)
{
	static const struct {
		int family, type;
		enum { ALONE, LISTENING, CONNECTED, PAIR } state;
	} kinds[SOCKETS_REACHING] = {
		{AF_INET, SOCK_STREAM, ALONE},     {AF_INET, SOCK_STREAM, LISTENING},
		{AF_INET, SOCK_STREAM, CONNECTED}, {AF_INET6, SOCK_STREAM, ALONE},
		{AF_INET, SOCK_DGRAM, ALONE},      {AF_INET, SOCK_DGRAM, CONNECTED},
		{AF_UNIX, SOCK_STREAM, ALONE},     {AF_UNIX, SOCK_STREAM, LISTENING},
		{AF_UNIX, SOCK_DGRAM, PAIR},       {AF_NETLINK, SOCK_RAW, ALONE},
	};
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_storage own = {.ss_family = (sa_family_t)kinds[i].family};
	socklen_t length = kinds[i].family == AF_UNIX ? sizeof(sa_family_t) : sizeof address;
	int fd = socket(kinds[i].family, kinds[i].type, 0), pair[2], r = 0, listener;

	if (kinds[i].state == LISTENING) {
		if (kinds[i].family == AF_INET)
			__builtin_memcpy(&own, &address, sizeof address);
		r = bind(fd, (struct sockaddr *)&own, length) < 0 || listen(fd, 1) < 0;
	} else if (kinds[i].state == PAIR) {
		(void)close(fd);
		r = socketpair(kinds[i].family, kinds[i].type, 0, pair);
		fd = pair[0];
		(void)close(pair[1]);
	} else if (kinds[i].state == CONNECTED) {
		listener = socket(kinds[i].family, kinds[i].type, 0);
		length = sizeof address;
		r = bind(listener, (struct sockaddr *)&address, length) < 0 ||
		    (kinds[i].type == SOCK_STREAM && listen(listener, 1) < 0) ||
		    getsockname(listener, (struct sockaddr *)&address, &length) < 0 ||
		    connect(fd, (struct sockaddr *)&address, length) < 0;
		if (kinds[i].type == SOCK_STREAM)
			r = r || accept(listener, NULL, NULL) < 0; /* which stays open: a connection
			                                              that was reset has no peer */
		(void)close(listener);
	}
	assert(r == 0);
	assert((getpeername(fd, (struct sockaddr *)&own, &length) == 0) ==
	       (kinds[i].state >= CONNECTED || kinds[i].family == AF_NETLINK));
	return fd;
}
