/* SPDX-License-Identifier: Apache-2.0 */
/* See port.h. */
#include "programs/inside/init/port.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/failure.h"

int port_connect(const struct message_connect *asked, int *ret_fd, struct yett_error *error)
{
	bool is_v6 = asked->family == CONNECT_V6;
	const struct sockaddr_in v4 = {.sin_family = AF_INET,
	                               .sin_port = htons((uint16_t)asked->port),
	                               .sin_addr = {htonl(INADDR_LOOPBACK)}};
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6,
	                                .sin6_port = htons((uint16_t)asked->port),
	                                .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	_cleanup_fd_ int fd =
		socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 ||
	    (connect(fd, is_v6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4,
	             is_v6 ? sizeof v6 : sizeof v4) < 0 &&
	     errno != EINPROGRESS))
		return failure_set(error, YETT_E_COMMAND_FAILED, NULL,
		                   "cannot connect to port %u of the sandbox: %m", asked->port);
	*ret_fd = steal_fd(&fd);
	return 0;
}
