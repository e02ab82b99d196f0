/*
 * One rule of the lists that say what a sandbox may reach.
 *
 * Pure functions with the privilege of the caller; net_rule_parse.h has the way from text, for
 * programs that hear people. A rule is a value: two that mean the same are the same bytes, since
 * what a kind does not use is zero.
 *
 * What a rule of an allow list allows, each at its ports:
 *   NAME, BELOW_ONE, BELOW   connections to such names, wherever they lead that is public (or
 * private, where the policy allows private addresses); NAME that is bound       connections to the
 * name, but only where it leads into the network; ADDRESS                  connections to the bare
 * addresses of the network. It lets no name be looked up; ANY                      all names, and
 * all bare addresses that are public (or private, as above).
 *
 * A private or local address is *named* by an ADDRESS rule, or by a bound rule for its name, whose
 * network holds it and has nothing less strict in it (net_address_network_kind()): 10.0.0.0/8 and
 * 127.0.0.1 name what they hold, 0.0.0.0/0 and ANY name nothing, so that nobody who means the
 * internet opens the office. What is named is reachable without the policy's leave for private
 * addresses, also by way of a name that another rule allows. Nothing names a link-local address, a
 * cloud's metadata or what is no host's.
 *
 * A rule of a deny list forbids as much, and more: an ADDRESS rule also by whatever name, and in
 * the forms of IPv6 that lead to an address of IPv4 in it; ANY whatever uses its ports.
 */
#pragma once

#include "base/net_address.h"
#include "base/net_name.h"

enum net_rule_kind {
	NET_RULE_ANY,
	NET_RULE_NAME,
	NET_RULE_BELOW_ONE, /* *.NAME: one label more */
	NET_RULE_BELOW,     /* **.NAME: one label more, or many. Not NAME itself */
	NET_RULE_ADDRESS,
};

struct net_rule {
	uint8_t kind;     /* enum net_rule_kind */
	uint8_t is_bound; /* 0 or 1. Of a NAME: it counts only where it leads into the network. No
	                     bool: peers fill it */
	uint8_t prefix;   /* of an ADDRESS or a bound NAME; from 96 on for IPv4 */
	uint8_t reserved; /* 0 */
	uint16_t port_first, port_last; /* 1 to 65535; both ends are in it */
	struct net_address address;     /* the first of the network */
	char name[NET_NAME_SIZE];       /* canonical, filled up with zeros */
};

#define NET_RULE_PORT_MAX  65535
#define NET_RULE_TEXT_SIZE 336 /* **. and a name, two ports, @ and a network */

/* Whether a rule of a peer is one: numbers in range, a canonical name that ends, a network without
 * host bits, zeros elsewhere. */
bool net_rule_is_valid(const struct net_rule *rule);

/* Whether the rule has a network. */
bool net_rule_has_network(const struct net_rule *rule);

/*
 * The canonical text of a valid rule, of which net_rule_parse() makes the same rule: no ports where
 * it has all, no prefix of a single address, brackets around an address of IPv6 (those after @ have
 * none). Returns `out`.
 */
char *net_rule_print(const struct net_rule *rule, char out[NET_RULE_TEXT_SIZE]);

/*
 * Whether everything that `inner` allows `outer` alone allows as well, under the same policy for
 * private addresses. So
 * *.example.org covers a.example.org but not b.a.example.org; an unbound name covers the same name
 * bound to public addresses, but not bound to private ones, which only the bound rule names; ANY
 * covers every rule that names nothing. No ADDRESS rule covers a name, nor a name an address. This
 * is exact, but that an `inner` that allows nothing is not covered by everything.
 */
bool net_rule_covers(const struct net_rule *outer, const struct net_rule *inner);

/* Whether the network of an ADDRESS or bound rule names, as above, an address in it that is of this
 * kind. */
bool net_rule_network_names(const struct net_address *network, unsigned prefix,
                            enum net_address_kind kind);

/* Whether the rule, on an allow list, would allow nothing at all, since its whole network is
 * link-local, metadata or no host's. */
bool net_rule_allows_nothing(const struct net_rule *rule);
