/*
 * The ports that rules are about: where each takes a listener of its own, since nothing else
 * catches connections.
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
 * Each port of the rules that allow something, once, of a list that was checked or made here. NULL;
 * or the first rule with which they are more than NET_PORTS_MAX, and nothing else is said then.
 */
const struct net_record *net_ports_collect(const struct net_list *list,
                                           struct net_ports *ret_ports);
