/*
 * Makes the sockets on which the proxy (yett-front) receives all connections and DNS queries of a
 * sandbox. They are the same for every sandbox.
 *
 * Must run in the network namespace in which connections are intercepted, with CAP_NET_BIND_SERVICE
 * over that namespace, for port 53. ip(7), ipv6(7)
 */
#pragma once

#include "base/error.h"

#define NET_CATCH_PORT_DNS 53
#define NET_CATCH_BACKLOG  256 /* for each listening socket */

/* In the same order as in enum front_fd (programs/egress/egress.h). */
enum net_catch_socket { NET_CATCH_TCP4, NET_CATCH_TCP6, NET_CATCH_DNS, NET_CATCH_SOCKETS };

/*
 * Makes the sockets. ret_sockets[NET_CATCH_TCP6] is -1 if the host has no IPv6. Returns 0 or
 * -errno. After an error, too, the caller must close the sockets in `ret_sockets` that are not
 * negative.
 */
_must_check_ int net_catch_listen(int ret_sockets[static NET_CATCH_SOCKETS]);
