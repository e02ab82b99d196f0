/* SPDX-License-Identifier: Apache-2.0 */
/* See net_ports.h. No privilege, no allocation. */
#include "base/net_ports.h"

#define BITS 8

const struct net_record *net_ports_collect(const struct net_list *list, struct net_ports *ret_ports)
{
	uint8_t seen[(NET_RULE_PORT_MAX + 1) / BITS] = {0};
	const struct net_record *record = NULL;

	*ret_ports = (struct net_ports){0};
	while ((record = net_list_next(list, record))) {
		if (record->list != NET_LIST_ALLOW)
			continue;
		for (uint32_t port = record->port_first; port <= record->port_last; port++) {
			if (seen[port / BITS] & 1u << port % BITS)
				continue;
			if (ret_ports->count == NET_PORTS_MAX)
				return record;
			seen[port / BITS] |= (uint8_t)(1u << port % BITS);
			ret_ports->ports[ret_ports->count++] = (uint16_t)port;
		}
	}
	return NULL;
}
