/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See net_address.h. No privilege, no allocation, no I/O: from <arpa/inet.h> only inet_pton(3) and
 * inet_ntop(3) are used.
 */
#include "base/net_address.h"

#include <arpa/inet.h>
#include <string.h>

#define V4_AT 12 /* index of the four IPv4 bytes in the mapped form */

static const uint8_t mapped[V4_AT] = {[10] = 0xff, [11] = 0xff};

int net_address_parse(const char *text, struct net_address *ret_address)
{
	struct net_address address = {0};

	if (inet_pton(AF_INET, text, address.bytes + V4_AT) == 1)
		memcpy(address.bytes, mapped, sizeof mapped);
	else if (inet_pton(AF_INET6, text, address.bytes) != 1)
		return -EINVAL;
	*ret_address = address;
	return 0;
}

char *net_address_print(const struct net_address *address, char out[NET_ADDRESS_TEXT_SIZE])
{
	bool is_v4 = net_address_is_v4(address);

	/* Cannot fail: the only possible error is a lack of room, and either form fits. */
	(void)inet_ntop(is_v4 ? AF_INET : AF_INET6, address->bytes + (is_v4 ? V4_AT : 0), out,
	                NET_ADDRESS_TEXT_SIZE);
	return out;
}

int net_address_compare(const struct net_address *a, const struct net_address *b)
{
	return memcmp(a->bytes, b->bytes, sizeof a->bytes);
}

bool net_address_is_v4(const struct net_address *address)
{
	return memcmp(address->bytes, mapped, sizeof mapped) == 0;
}

struct net_address net_address_masked(const struct net_address *address, unsigned prefix)
{
	struct net_address network = {0};

	memcpy(network.bytes, address->bytes, prefix / 8);
	if (prefix % 8)
		network.bytes[prefix / 8] =
			(uint8_t)(address->bytes[prefix / 8] & (0xff00 >> (prefix % 8)));
	return network;
}

bool net_address_is_in(const struct net_address *address, const struct net_address *network,
                       unsigned prefix)
{
	struct net_address masked = net_address_masked(address, prefix);

	if (prefix < NET_ADDRESS_PREFIX_V4 && net_address_is_v4(address))
		return false;
	return net_address_compare(&masked, network) == 0;
}

bool net_address_covers(const struct net_address *outer, unsigned outer_prefix,
                        const struct net_address *inner, unsigned inner_prefix)
{
	return inner_prefix >= outer_prefix && net_address_is_in(inner, outer, outer_prefix);
}

struct range {
	struct net_address network;
	uint8_t prefix;
	uint8_t kind;
};

#define WORD(w) (uint8_t)((w) >> 8), (uint8_t)((w)&0xff)
#define V4(a, b, c, d, bits, kind)                                                            \
	{                                                                                     \
		{{[10] = 0xff, [11] = 0xff, [12] = (a), [13] = (b), [14] = (c), [15] = (d)}}, \
			NET_ADDRESS_PREFIX_V4 + (bits), NET_ADDRESS_##kind                    \
	}
#define V6(a, b, c, d, e, f, g, h, bits, kind)                                              \
	{                                                                                   \
		{{WORD(a), WORD(b), WORD(c), WORD(d), WORD(e), WORD(f), WORD(g), WORD(h)}}, \
			(bits), NET_ADDRESS_##kind                                          \
	}

/*
 * The kind of an address is that of the narrowest range that contains it. IANA has assigned only
 * 2000::/3 of IPv6 to hosts, so every other IPv6 address is NEVER unless a row below says
 * otherwise. NEVER therefore includes ::/96 (IPv4-compatible), ::ffff:0:0:0/96 (RFC 2765), 100::/64
 * and 100:0:0:1::/64 (discard and dummy prefixes, RFC 6666 and RFC 9780), 5f00::/16 (RFC 9602),
 * fec0::/10 (RFC 3879) and ff00::/8 (multicast).
 */
static const struct range ranges[] = {
	V4(0, 0, 0, 0, 0, PUBLIC),
	V4(0, 0, 0, 0, 8, LOCAL), /* RFC 1122: this network; Linux connects 0.0.0.0 to the host */
	V4(10, 0, 0, 0, 8, PRIVATE), /* RFC 1918 */
	/* RFC 6598: shared by a carrier's customers; also used by overlay networks. */
	V4(100, 64, 0, 0, 10, PRIVATE),
	V4(100, 100, 100, 200, 32, LINK), /* Alibaba Cloud: metadata service */
	V4(127, 0, 0, 0, 8, LOCAL),       /* RFC 1122: loopback */
	/* Azure: the host's agent, which serves the secrets of extensions. */
	V4(168, 63, 129, 16, 32, LINK),
	V4(169, 254, 0, 0, 16, LINK),   /* RFC 3927; nearly all clouds' metadata services */
	V4(172, 16, 0, 0, 12, PRIVATE), /* RFC 1918 */
	/* RFC 6890: protocol assignments. 192.0.0.192 serves metadata in Oracle's older cloud. */
	V4(192, 0, 0, 0, 24, NEVER),
	/* RFC 5737: documentation. */
	V4(192, 0, 2, 0, 24, NEVER),
	V4(192, 88, 99, 0, 24, NEVER),   /* RFC 7526: 6to4 relays, deprecated */
	V4(192, 168, 0, 0, 16, PRIVATE), /* RFC 1918 */
	/* RFC 2544: benchmarks. Some VPNs return these addresses in DNS answers. */
	V4(198, 18, 0, 0, 15, PRIVATE),
	V4(198, 51, 100, 0, 24, NEVER), /* RFC 5737: documentation */
	V4(203, 0, 113, 0, 24, NEVER),  /* RFC 5737: documentation */
	V4(224, 0, 0, 0, 4, NEVER),     /* RFC 5771: multicast */
	V4(240, 0, 0, 0, 4, NEVER),     /* RFC 1112: reserved; the last address is broadcast */
	V6(0, 0, 0, 0, 0, 0, 0, 0, 0, NEVER),
	/* RFC 4291: unspecified. Linux connects it to the host itself. */
	V6(0, 0, 0, 0, 0, 0, 0, 0, 128, LOCAL),
	V6(0, 0, 0, 0, 0, 0, 0, 1, 128, LOCAL), /* RFC 4291: loopback */
	/* RFC 6052: NAT64. net_address_kind() also judges the embedded IPv4 address. */
	V6(0x64, 0xff9b, 0, 0, 0, 0, 0, 0, 96, PUBLIC),
	V6(0x64, 0xff9b, 1, 0, 0, 0, 0, 0, 48, PRIVATE), /* RFC 8215: local-use NAT64 */
	V6(0x2000, 0, 0, 0, 0, 0, 0, 0, 3, PUBLIC),      /* RFC 4291: global unicast */
	/* RFC 2928: protocol assignments, which include Teredo and ORCHID. */
	V6(0x2001, 0, 0, 0, 0, 0, 0, 0, 23, NEVER),
	V6(0x2001, 2, 0, 0, 0, 0, 0, 0, 48, PRIVATE),   /* RFC 5180: benchmarks */
	V6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0, 32, NEVER), /* RFC 3849: documentation */
	V6(0x3fff, 0, 0, 0, 0, 0, 0, 0, 20, NEVER),     /* RFC 9637: documentation */
	V6(0xfc00, 0, 0, 0, 0, 0, 0, 0, 7, PRIVATE),    /* RFC 4193: unique local */
	/* The metadata services of clouds. */
	V6(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42, 128, LINK),        /* Scaleway */
	V6(0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200, 128, LINK),  /* Alibaba Cloud */
	V6(0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1, 128, LINK),    /* Akamai, formerly Linode */
	V6(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe, 128, LINK), /* Oracle */
	/* Amazon: ::23 in this range serves the credentials of containers. */
	V6(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0, 32, LINK),
	V6(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254, 128, LINK), /* Google */
	V6(0xfe80, 0, 0, 0, 0, 0, 0, 0, 10, LINK),         /* RFC 4291: link-local */
};

/*
 * The narrowest range that contains the network. Never NULL: each family has a range that contains
 * all its addresses.
 */
static const struct range *range_of(const struct net_address *network, unsigned prefix)
{
	const struct range *narrowest = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (net_address_covers(&ranges[i].network, ranges[i].prefix, network, prefix) &&
		    (!narrowest || ranges[i].prefix > narrowest->prefix))
			narrowest = &ranges[i];
	return narrowest;
}

/* Where an IPv4 address is embedded in the IPv6 addresses of a network. */
struct form {
	struct net_address network;
	uint8_t prefix;
	uint8_t at[4]; /* indices of the four bytes */
	bool is_guess; /* the operator may use another prefix length, and so other indices */
};

#define FORM(a, b, c, bits) {{WORD(a), WORD(b), WORD(c)}}, (bits)

static const struct form forms[] = {
	{FORM(0x64, 0xff9b, 0, 96), {12, 13, 14, 15}, false},
	{FORM(0x64, 0xff9b, 1, 48), {6, 7, 9, 10}, true}, /* RFC 6052, 2.2: byte 8 is skipped */
	{FORM(0x64, 0xff9b, 1, 48), {7, 9, 10, 11}, true},
	{FORM(0x64, 0xff9b, 1, 48), {9, 10, 11, 12}, true},
	{FORM(0x64, 0xff9b, 1, 48), {12, 13, 14, 15}, true},
	{FORM(0x2002, 0, 0, 16), {2, 3, 4, 5}, false},
};

/*
 * Whether the address has an ISATAP interface identifier (RFC 5214, 6.1), which can follow any
 * prefix. The mask ignores the "u" bit, which says whether the IPv4 address is globally unique.
 */
static bool is_isatap(const struct net_address *address)
{
	const uint8_t *identifier = address->bytes + 8;

	return (identifier[0] & ~2) == 0 && identifier[1] == 0 && identifier[2] == 0x5e &&
	       identifier[3] == 0xfe;
}

static struct net_address v4_at(const struct net_address *address, const uint8_t at[4])
{
	struct net_address v4;

	memcpy(v4.bytes, mapped, sizeof mapped);
	for (size_t i = 0; i < 4; i++)
		v4.bytes[V4_AT + i] = address->bytes[at[i]];
	return v4;
}

/*
 * Whether an IPv4 address found by a guess can be a host. A wrong guess reads the zero bytes next
 * to the real address, or prefix bytes: many operators choose 64:ff9b:1:fffe::/96, since that
 * prefix leaves checksums unchanged.
 */
static bool is_a_host(const struct net_address *v4)
{
	return v4->bytes[V4_AT] != 0 && v4->bytes[V4_AT] < 224;
}

size_t net_address_embedded(const struct net_address *address,
                            struct net_address ret_embedded[NET_ADDRESS_EMBEDDED_MAX])
{
	static const uint8_t last[4] = {12, 13, 14, 15};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (!net_address_is_in(address, &forms[i].network, forms[i].prefix))
			continue;
		ret_embedded[count] = v4_at(address, forms[i].at);
		if (!forms[i].is_guess || is_a_host(&ret_embedded[count]))
			count++;
	}
	if (is_isatap(address))
		ret_embedded[count++] = v4_at(address, last);
	return count;
}

enum net_address_kind net_address_kind(const struct net_address *address)
{
	struct net_address embedded[NET_ADDRESS_EMBEDDED_MAX];
	size_t count = net_address_embedded(address, embedded);
	uint8_t strictest = range_of(address, NET_ADDRESS_PREFIX_MAX)->kind;

	for (size_t i = 0; i < count; i++) {
		uint8_t kind = range_of(&embedded[i], NET_ADDRESS_PREFIX_MAX)->kind;

		strictest = kind > strictest ? kind : strictest;
	}
	return strictest;
}

enum net_address_kind net_address_network_kind(const struct net_address *network, unsigned prefix)
{
	uint8_t least;

	if (prefix == NET_ADDRESS_PREFIX_MAX)
		return net_address_kind(network);
	least = range_of(network, prefix)->kind;
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (ranges[i].kind < least &&
		    net_address_covers(network, prefix, &ranges[i].network, ranges[i].prefix))
			least = ranges[i].kind;
	return least;
}
