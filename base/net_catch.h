/*
 * What the connections of a sandbox come to: the sockets of a front that are the same for every
 * sandbox.
 *
 * In the network namespace in which they are caught, with CAP_NET_BIND_SERVICE over it. ip(7),
 * ipv6(7)
 */
#pragma once

#include "base/error.h"

#define NET_CATCH_PORT_DNS 53
#define NET_CATCH_BACKLOG  256 /* of each that listens */

/* In the order of enum front_fd. */
enum net_catch_socket { NET_CATCH_TCP4, NET_CATCH_TCP6, NET_CATCH_DNS, NET_CATCH_SOCKETS };

/* Makes them; -1: this host has no IPv6. 0 or -errno, with what was made in any case. */
_must_check_ int net_catch_listen(int ret_sockets[static NET_CATCH_SOCKETS]);
