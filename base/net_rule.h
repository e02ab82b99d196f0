/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rule of the lists that say what a sandbox may reach.
 *
 * Pure functions with the privilege of the caller. net_rule_parse.h parses the text of a rule, for
 * programs that read user input. A rule is a plain value: two rules that mean the same have the
 * same bytes, since members that a kind does not use are zero.
 */
#pragma once

/*
 * A rule of an allow list allows the following, each at the ports of the rule:
 *
 * - NAME, BELOW_ONE, BELOW: connections to these names, if the name resolves to a public address,
 * or to a private one and the policy allows private addresses.
 * - NAME, bound to a network: connections to the name, if the name resolves into the network.
 * - ADDRESS: connections to bare addresses of the network. Allows no lookup of a name.
 * - ANY: connections to all names, and to all bare addresses, that are public, or private as above.
 *
 * A rule *names* a private or local address if the rule is an ADDRESS rule, or a bound rule for the
 * name that is used, and its network contains the address but no address of a less strict kind
 * (net_address_network_kind()). So 10.0.0.0/8 and 127.0.0.1 name the addresses in them. 0.0.0.0/0
 * and ANY name nothing, so that a rule meant for the internet does not open a private network. A
 * named address can be reached even if the policy does not allow private addresses, also through a
 * name that another rule allows. No rule names a link-local address, a cloud's metadata service or
 * an address of no host.
 *
 * A rule of a deny list denies what the same rule would allow, and more: an ADDRESS rule also
 * denies connections through any name, and the IPv6 forms that embed an IPv4 address of its
 * network; ANY denies every connection to its ports.
 */

#include "base/net_address.h"
#include "base/net_name.h"

enum net_rule_kind {
	NET_RULE_ANY,
	NET_RULE_NAME,
	NET_RULE_BELOW_ONE, /* *.NAME: one label more */
	NET_RULE_BELOW,     /* **.NAME: one or more labels more, not NAME itself */
	NET_RULE_ADDRESS,
};

struct net_rule {
	uint8_t kind; /* enum net_rule_kind */
	/*
	 * 0 or 1. 1 only for a NAME: the rule applies if the name resolves into the network. Not a
	 * bool, since peers fill in rules.
	 */
	uint8_t is_bound;
	uint8_t prefix;   /* of an ADDRESS or a bound NAME, else 0; 96 or more for IPv4 */
	uint8_t reserved; /* 0 */
	uint16_t port_first, port_last; /* 1 to 65535, inclusive */
	struct net_address address;     /* the network's first address */
	char name[NET_NAME_SIZE];       /* canonical, padded with zeros */
};

#define NET_RULE_PORT_MAX  65535
#define NET_RULE_TEXT_SIZE 336 /* enough for **. and a name, two ports, @ and a network */

/*
 * Whether a rule that came from a peer is valid: numbers in range, a canonical name that ends with
 * NUL, a network without host bits, and zeros in all unused members.
 */
bool net_rule_is_valid(const struct net_rule *rule);

/* Whether the rule has a network: an ADDRESS rule or a bound one. */
bool net_rule_has_network(const struct net_rule *rule);

/*
 * Writes the canonical text of a valid rule, which net_rule_parse() turns back into the same rule.
 * Omits the ports if the rule has all of them, and the prefix of a single address. Puts an IPv6
 * address or network in brackets, except after the @. Returns `out`.
 */
char *net_rule_print(const struct net_rule *rule, char out[NET_RULE_TEXT_SIZE]);

/*
 * Whether `outer` alone allows everything that `inner` allows, under the same policy for private
 * addresses. The rule "*.example.org" covers a.example.org, but not b.a.example.org. An unbound
 * name covers the same name bound to public addresses, but not bound to private ones, since only
 * the bound rule names these. ANY covers every rule that names nothing. An ADDRESS rule covers no
 * name, and a name covers no ADDRESS rule. The result is exact, with one exception: an `inner` that
 * allows nothing is not covered by every rule.
 */
bool net_rule_covers(const struct net_rule *outer, const struct net_rule *inner);

/*
 * Whether the network of an ADDRESS or bound rule names, as defined above, the addresses of this
 * kind in it.
 */
bool net_rule_network_names(const struct net_address *network, unsigned prefix,
                            enum net_address_kind kind);

/*
 * Whether the rule would allow nothing in an allow list, because its whole network consists of
 * addresses that are link-local, cloud metadata services or of no host.
 */
bool net_rule_allows_nothing(const struct net_rule *rule);
