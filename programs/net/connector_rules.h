/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides about names and addresses by the rules in force. The connector (yett-dialer) makes all
 * its decisions here. Runs without privilege.
 */
#pragma once

#include "programs/net/ruleset.h"

/*
 * The decision about one connection. ASKED: no rule allows the connection, but the user may be
 * asked to allow it.
 */
struct connector_verdict {
	enum net_verdict verdict;
	uint32_t origin; /* of the rule that decided; 0: no rule */
	int error;       /* ALLOWED, but there is no route: an errno; otherwise 0 */
};

/*
 * Whether a canonical name may be looked up in order to connect at `port`. `port` 0: whether the
 * name may be looked up at all.
 */
struct connector_verdict connector_rules_name(const struct ruleset *rules, const char *name,
                                              uint16_t port);

/*
 * Whether a connection to the name, or to the address if the name is empty, goes through the HTTP
 * proxy.
 */
bool connector_rules_has_proxy(const struct ruleset *rules, const char *name,
                               const struct net_address *address, uint16_t port);

/*
 * Whether the HTTP proxy may be asked to connect to the name, or to the address if the name is
 * empty. Only the HTTP proxy resolves the name, so rules bound to a network do not count. An
 * address needs no route from this host.
 */
struct connector_verdict connector_rules_by_proxy(const struct ruleset *rules, int netlink,
                                                  const char *name,
                                                  const struct net_address *address, uint16_t port);

/*
 * Whether to connect to the address, for the name, or for the address itself if the name is empty.
 * An address of this host is allowed only if a rule names exactly that address: a rule that allows
 * the office's network is not meant to open this host's ports. `netlink` as for route_ask().
 */
struct connector_verdict connector_rules_decide(const struct ruleset *rules, int netlink,
                                                const char *name, const struct net_address *address,
                                                uint16_t port);
