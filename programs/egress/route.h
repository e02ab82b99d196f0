/*
 * Where the kernel would send what goes to an address: whether that is this host, which no table of
 * addresses can know.
 *
 * A netlink socket opened before the filter; a question is answered before it returns. No
 * privilege. rtnetlink(7), RTM_GETROUTE
 */
#pragma once

#include "base/net_address.h"

enum route {
	ROUTE_OUT,   /* to another host */
	ROUTE_LOCAL, /* to this one */
	ROUTE_GROUP, /* broadcast, multicast, anycast: to no single host */
};

/* The socket, close-on-exec, or -errno. */
_must_check_ int route_open(void);

/* 0, or -errno of why there is no way there, as connect(2) would say it. */
_must_check_ int route_ask(int netlink, const struct net_address *address, enum route *ret_route);
