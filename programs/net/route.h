/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the kernel where it would route an address: whether that is this host, which no table of
 * addresses can know.
 *
 * Uses a netlink socket that is opened before the filter. The kernel answers within send(2), so
 * nothing blocks. Runs without privilege. rtnetlink(7), RTM_GETROUTE
 */
#pragma once

#include "base/net_address.h"

enum route {
	ROUTE_OUT,   /* to another host */
	ROUTE_LOCAL, /* to this host */
	ROUTE_GROUP, /* broadcast, multicast, anycast: to no single host */
};

/* Returns the socket, close-on-exec, or -errno. */
_must_check_ int route_open(void);

/* Returns 0, or -errno of why there is no route, as connect(2) would return it. */
_must_check_ int route_ask(int netlink, const struct net_address *address, enum route *ret_route);
