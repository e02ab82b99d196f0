/*
 * What the rules that are in force say of a name or an address: all that the dialer decides, it
 * decides here. No privilege.
 */
#pragma once

#include "programs/egress/ruleset.h"

/* What was decided about one connection. ASKED: no rule allows it, but somebody may be asked about
 * that. */
struct dialer_verdict {
	enum net_verdict verdict;
	uint32_t origin; /* of the rule that it rests on; 0: there is none */
	int error;       /* ALLOWED, and yet there is no way there: an errno; else 0 */
};

/* Whether a canonical name may be looked up, to be connected to at `port`; 0: to be asked for at
 * all. */
struct dialer_verdict dialer_rules_name(const struct ruleset *rules, const char *name,
                                        uint16_t port);

/* Whether a connection to the name, or where that is empty to the address, goes by way of the
 * proxy. */
bool dialer_rules_has_proxy(const struct ruleset *rules, const char *name,
                            const struct net_address *address, uint16_t port);

/*
 * Whether the proxy may be asked for the name or, where that is empty, for the address. Where a
 * name leads the proxy alone finds out, so that no rule counts that is bound to a network. To an
 * address there need be no way from here.
 */
struct dialer_verdict dialer_rules_by_proxy(const struct ruleset *rules, int netlink,
                                            const char *name, const struct net_address *address,
                                            uint16_t port);

/*
 * Whether the address may be connected to, for the name or, where that is empty, for itself. The
 * host's own addresses are reached where a rule names that one address: who allows the office's
 * network does not mean this machine's ports. `netlink` as for route_ask().
 */
struct dialer_verdict dialer_rules_decide(const struct ruleset *rules, int netlink,
                                          const char *name, const struct net_address *address,
                                          uint16_t port);
