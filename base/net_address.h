/*
 * Network addresses: their text, the networks that they are in, and what lies behind them.
 *
 * Pure functions with the privilege of the caller. An address is 16 bytes in network order; IPv4 is
 * the mapped form
 * ::ffff:a.b.c.d (RFC 4291, 2.5.5.2), so that there is one kind of address, and one text and one
 * value for each. A network is the first of its addresses and a prefix of 0 to 128 bits; one of
 * IPv4 has a prefix from 96 on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fd.h"

struct net_address {
	uint8_t bytes[16];
};

/*
 * What lies behind an address, from what anyone may reach to what nobody may. The order is what
 * "stricter" means. PRIVATE is reached where the policy allows private addresses or a rule names
 * it, LOCAL only where a rule names it, LINK and NEVER not at all.
 */
enum net_address_kind {
	NET_ADDRESS_PUBLIC,
	NET_ADDRESS_PRIVATE, /* someone's own network: RFC 1918, shared address space, unique local,
	                        benchmarks */
	NET_ADDRESS_LOCAL,   /* this host: loopback, 0.0.0.0/8, :: */
	NET_ADDRESS_LINK, /* this link, and the services that tell a machine in a cloud its secrets,
	                     wherever they are */
	NET_ADDRESS_NEVER, /* no host's: multicast, broadcast, reserved, documentation, discard,
	                      Teredo */
};

#define NET_ADDRESS_TEXT_SIZE    46 /* inet_ntop(3): INET6_ADDRSTRLEN */
#define NET_ADDRESS_PREFIX_V4    96
#define NET_ADDRESS_PREFIX_MAX   128
#define NET_ADDRESS_EMBEDDED_MAX 5

/*
 * Reads the whole text as inet_pton(3) does: four decimal numbers without leading zeros, or RFC
 * 4291's forms. What only inet_aton(3) takes (octal, hexadecimal, one number, 127.1) is refused,
 * and so is a zone. -EINVAL.
 */
_must_check_ int net_address_parse(const char *text, struct net_address *ret_address);

/* The one text of an address: IPv4 with dots, else as inet_ntop(3). net_address_parse() has the
 * same address of it. Returns `out`. */
char *net_address_print(const struct net_address *address, char out[NET_ADDRESS_TEXT_SIZE]);

/* As memcmp(3). */
int net_address_compare(const struct net_address *a, const struct net_address *b);

bool net_address_is_v4(const struct net_address *address);

/* The first address of the network of `prefix` bits that `address` is in. */
struct net_address net_address_masked(const struct net_address *address, unsigned prefix);

/*
 * Whether the address is in the network. The families stay apart: no address of IPv4 is in ::/0 or
 * another network of IPv6, though its mapped form would be, since nobody who writes ::/0 thinks of
 * it.
 */
bool net_address_is_in(const struct net_address *address, const struct net_address *network,
                       unsigned prefix);

/* Whether all addresses of `inner` are in `outer`. */
bool net_address_covers(const struct net_address *outer, unsigned outer_prefix,
                        const struct net_address *inner, unsigned inner_prefix);

/*
 * By IANA's special-purpose registries (RFC 6890 and what was added since) and by what is known of
 * clouds. An address that leads to another of IPv4 is judged as the stricter of the two. What no
 * table can know is the caller's to find out: the host's own addresses, and a prefix that an
 * operator has chosen for NAT64.
 */
enum net_address_kind net_address_kind(const struct net_address *address);

/*
 * The least strict kind that addresses of the network have: PRIVATE for 10.0.0.0/8, and for
 * fc00::/7 though a cloud's service is in it; PUBLIC for 0.0.0.0/0. A single address has its own.
 */
enum net_address_kind net_address_network_kind(const struct net_address *network, unsigned prefix);

/*
 * The addresses of IPv4 that a gateway or tunnel may make of this one: NAT64 (RFC 6052, RFC 8215),
 * 6to4 (RFC 3056), ISATAP (RFC 5214). Returns how many; what is NEVER as a whole is not looked
 * into.
 */
size_t net_address_embedded(const struct net_address *address,
                            struct net_address ret_embedded[NET_ADDRESS_EMBEDDED_MAX]);
