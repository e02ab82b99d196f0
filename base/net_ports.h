/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the ports of the allow rules. Without root or BPF, nothing intercepts all connections of
 * a sandbox, so that each port needs a separate listening socket.
 *
 * Pure functions with the privilege of the caller.
 */
#pragma once

#include "base/net_list.h"

#define NET_PORTS_MAX 256

struct net_ports {
	uint32_t count;
	uint16_t ports[NET_PORTS_MAX];
};

/*
 * Collects each port of the rules in the list NET_LIST_ALLOW once. `list` must have passed
 * net_list_check() or have been made with the functions of net_list.h. Returns NULL; or the rule
 * with which the number of ports exceeds NET_PORTS_MAX, and `ret_ports` must not be used then.
 */
const struct net_record *net_ports_collect(const struct net_list *list,
                                           struct net_ports *ret_ports);
