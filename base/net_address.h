/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network addresses: parses and prints them, compares them with networks, and classifies them.
 *
 * Pure functions with the privilege of the caller. An address is 16 bytes in network order. IPv4
 * addresses have the mapped form ::ffff:a.b.c.d (RFC 4291, 2.5.5.2), so that one type holds both
 * families, and each address has exactly one value and one text. A network is its first address and
 * a prefix of 0 to 128 bits. The prefix of an IPv4 network is 96 to 128.
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
 * Classes of addresses, in order of strictness: a higher value is stricter. The rules decide about
 * PUBLIC addresses. A sandbox can reach PRIVATE addresses only if, in addition, the policy allows
 * private addresses or a rule names the address (net_rule.h); LOCAL addresses only if a rule names
 * them; LINK and NEVER addresses not at all.
 */
enum net_address_kind {
	NET_ADDRESS_PUBLIC,
	/* Private networks: RFC 1918, shared address space, unique local, benchmarks. */
	NET_ADDRESS_PRIVATE,
	/* This host: loopback, 0.0.0.0/8, ::. */
	NET_ADDRESS_LOCAL,
	/* Link-local addresses, and cloud metadata services at any address, which serve secrets. */
	NET_ADDRESS_LINK,
	/* Addresses of no host: multicast, broadcast, reserved, documentation, discard, Teredo. */
	NET_ADDRESS_NEVER,
};

#define NET_ADDRESS_TEXT_SIZE    46 /* inet_ntop(3): INET6_ADDRSTRLEN */
#define NET_ADDRESS_PREFIX_V4    96
#define NET_ADDRESS_PREFIX_MAX   128
#define NET_ADDRESS_EMBEDDED_MAX 5

/*
 * Parses the whole text as inet_pton(3) does: four decimal numbers without leading zeros, or the
 * IPv6 forms of RFC 4291. Refuses the forms that only inet_aton(3) accepts (octal, hexadecimal, a
 * single number, 127.1), and a zone. Returns 0 or -EINVAL.
 */
_must_check_ int net_address_parse(const char *text, struct net_address *ret_address);

/*
 * Writes the canonical text of an address: dotted decimal for IPv4, otherwise as inet_ntop(3).
 * net_address_parse() turns the text back into the same address. Returns `out`.
 */
char *net_address_print(const struct net_address *address, char out[NET_ADDRESS_TEXT_SIZE]);

/* Returns a number below, equal to or above 0, as memcmp(3) does. */
int net_address_compare(const struct net_address *a, const struct net_address *b);

bool net_address_is_v4(const struct net_address *address);

/* The first address of the network of `prefix` bits that contains `address`. */
struct net_address net_address_masked(const struct net_address *address, unsigned prefix);

/*
 * Whether the address is in the network. An IPv4 address is in no IPv6 network, not even in ::/0,
 * although ::/0 contains its mapped form: the author of a rule with ::/0 does not mean IPv4.
 */
bool net_address_is_in(const struct net_address *address, const struct net_address *network,
                       unsigned prefix);

/* Whether all addresses of the network `inner` are in the network `outer`. */
bool net_address_covers(const struct net_address *outer, unsigned outer_prefix,
                        const struct net_address *inner, unsigned inner_prefix);

/*
 * Classifies an address by IANA's special-purpose registries (RFC 6890 and later additions) and by
 * the known addresses of cloud metadata services. If the address embeds IPv4 addresses
 * (net_address_embedded()), the strictest class of all of them counts. The caller must check what
 * no table contains: the host's own addresses, and a NAT64 prefix that an operator has chosen.
 */
enum net_address_kind net_address_kind(const struct net_address *address);

/*
 * The least strict kind of all addresses in the network: PRIVATE for 10.0.0.0/8, and for fc00::/7
 * although that contains cloud metadata services; PUBLIC for 0.0.0.0/0. For a single address
 * (prefix 128) the same as net_address_kind().
 */
enum net_address_kind net_address_network_kind(const struct net_address *network, unsigned prefix);

/*
 * Writes the IPv4 addresses to which a gateway or tunnel may translate this address: NAT64 (RFC
 * 6052, RFC 8215), 6to4 (RFC 3056), ISATAP (RFC 5214). Returns how many there are. Does not decode
 * forms whose whole range is NEVER, such as Teredo.
 */
size_t net_address_embedded(const struct net_address *address,
                            struct net_address ret_embedded[NET_ADDRESS_EMBEDDED_MAX]);
