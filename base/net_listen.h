/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the sockets on which the proxy (yett-front) receives all connections and DNS queries of a
 * sandbox. They are the same for every sandbox.
 *
 * Must run in the network namespace in which connections are intercepted, with CAP_NET_BIND_SERVICE
 * over that namespace, for port 53. ip(7), ipv6(7)
 */
#pragma once

#include "base/error.h"

#define NET_LISTEN_PORT_DNS 53
#define NET_LISTEN_BACKLOG  256 /* for each listening socket */

/* In the same order as in enum proxy_fd (programs/net/egress.h). */
enum net_listen_socket { NET_LISTEN_TCP4, NET_LISTEN_TCP6, NET_LISTEN_DNS, NET_LISTEN_SOCKETS };

/*
 * Makes the sockets. ret_sockets[NET_LISTEN_TCP6] is -1 if the host has no IPv6. Returns 0 or
 * -errno. After an error, too, the caller must close the sockets in `ret_sockets` that are not
 * negative.
 */
_must_check_ int net_listen_open(int ret_sockets[static NET_LISTEN_SOCKETS]);
