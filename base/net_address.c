/* See net_address.h. No privilege, no allocation, no I/O: of <arpa/inet.h> only what turns text
 * into numbers and back. */
#include "base/net_address.h"

#include <arpa/inet.h>
#include <string.h>

#define V4_AT 12 /* where the four bytes of IPv4 stand in the mapped form */

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

	/* There is room for either, which is the only error that there could be. */
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
 * The narrowest range that an address is in counts. Of IPv6 only 2000::/3 was given out to hosts,
 * so all else is NEVER but what stands here; that takes in ::/96 (IPv4-compatible), ::ffff:0:0:0/96
 * (RFC 2765), 100::/64 and 100:0:0:1::/64 (discard and dummy, RFC 6666 and RFC 9780), 5f00::/16
 * (RFC 9602), fec0::/10 (RFC 3879) and ff00::/8.
 */
static const struct range ranges[] = {
	V4(0, 0, 0, 0, 0, PUBLIC),
	V4(0, 0, 0, 0, 8,
           LOCAL), /* RFC 1122: this host on this network; Linux connects 0.0.0.0 to itself */
	V4(10, 0, 0, 0, 8, PRIVATE), /* RFC 1918 */
	V4(100, 64, 0, 0, 10,
           PRIVATE), /* RFC 6598: shared by a carrier's customers, and what overlay networks use */
	V4(100, 100, 100, 200, 32, LINK), /* Alibaba Cloud: metadata */
	V4(127, 0, 0, 0, 8, LOCAL),       /* RFC 1122: loopback */
	V4(168, 63, 129, 16, 32,
           LINK), /* Azure: the host's agent, with the secrets of extensions */
	V4(169, 254, 0, 0, 16,
           LINK), /* RFC 3927, with the metadata services of nearly all clouds */
	V4(172, 16, 0, 0, 12, PRIVATE), /* RFC 1918 */
	V4(192, 0, 0, 0, 24,
           NEVER), /* RFC 6890: protocols; 192.0.0.192 is metadata in Oracle's older cloud */
	V4(192, 0, 2, 0, 24, NEVER),     /* RFC 5737: documentation */
	V4(192, 88, 99, 0, 24, NEVER),   /* RFC 7526: relays of 6to4, deprecated */
	V4(192, 168, 0, 0, 16, PRIVATE), /* RFC 1918 */
	V4(198, 18, 0, 0, 15,
           PRIVATE), /* RFC 2544: benchmarks, and what some VPNs answer for names */
	V4(198, 51, 100, 0, 24, NEVER), /* RFC 5737 */
	V4(203, 0, 113, 0, 24, NEVER),  /* RFC 5737 */
	V4(224, 0, 0, 0, 4, NEVER),     /* RFC 5771: multicast */
	V4(240, 0, 0, 0, 4, NEVER),     /* RFC 1112: reserved, with broadcast at its end */
	V6(0, 0, 0, 0, 0, 0, 0, 0, 0, NEVER),
	V6(0, 0, 0, 0, 0, 0, 0, 0, 128,
           LOCAL), /* RFC 4291: unspecified, which Linux connects to itself */
	V6(0, 0, 0, 0, 0, 0, 0, 1, 128, LOCAL), /* RFC 4291: loopback */
	V6(0x64, 0xff9b, 0, 0, 0, 0, 0, 0, 96,
           PUBLIC), /* RFC 6052: NAT64, judged by what it leads to */
	V6(0x64, 0xff9b, 1, 0, 0, 0, 0, 0, 48, PRIVATE), /* RFC 8215: NAT64 of one's own */
	V6(0x2000, 0, 0, 0, 0, 0, 0, 0, 3, PUBLIC),      /* RFC 4291: global unicast */
	V6(0x2001, 0, 0, 0, 0, 0, 0, 0, 23,
           NEVER), /* RFC 2928: protocols, with Teredo and ORCHID */
	V6(0x2001, 2, 0, 0, 0, 0, 0, 0, 48, PRIVATE),   /* RFC 5180: benchmarks */
	V6(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0, 32, NEVER), /* RFC 3849: documentation */
	V6(0x3fff, 0, 0, 0, 0, 0, 0, 0, 20, NEVER),     /* RFC 9637: documentation */
	V6(0xfc00, 0, 0, 0, 0, 0, 0, 0, 7, PRIVATE),    /* RFC 4193: unique local */
	V6(0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42, 128,
           LINK), /* Scaleway: metadata, as all that follow */
	V6(0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200, 128, LINK),  /* Alibaba Cloud */
	V6(0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1, 128, LINK),    /* Akamai, formerly Linode */
	V6(0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe, 128, LINK), /* Oracle */
	V6(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0, 32,
           LINK), /* Amazon, with the credentials of containers at ::23 */
	V6(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254, 128, LINK), /* Google */
	V6(0xfe80, 0, 0, 0, 0, 0, 0, 0, 10, LINK),         /* RFC 4291 */
};

/* The narrowest range that holds the network; each of the two families has one that holds all. */
static const struct range *range_of(const struct net_address *network, unsigned prefix)
{
	const struct range *narrowest = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		if (net_address_covers(&ranges[i].network, ranges[i].prefix, network, prefix) &&
		    (!narrowest || ranges[i].prefix > narrowest->prefix))
			narrowest = &ranges[i];
	return narrowest;
}

/* Where an address of IPv4 stands in one of IPv6. */
struct form {
	struct net_address network;
	uint8_t prefix;
	uint8_t at[4];
	bool is_guess; /* how much of the network is the translator's own is not known */
};

#define FORM(a, b, c, bits) {{WORD(a), WORD(b), WORD(c)}}, (bits)

static const struct form forms[] = {
	{FORM(0x64, 0xff9b, 0, 96), {12, 13, 14, 15}, false},
	{FORM(0x64, 0xff9b, 1, 48), {6, 7, 9, 10}, true}, /* RFC 6052, 2.2: byte 8 is left out */
	{FORM(0x64, 0xff9b, 1, 48), {7, 9, 10, 11}, true},
	{FORM(0x64, 0xff9b, 1, 48), {9, 10, 11, 12}, true},
	{FORM(0x64, 0xff9b, 1, 48), {12, 13, 14, 15}, true},
	{FORM(0x2002, 0, 0, 16), {2, 3, 4, 5}, false},
};

/* RFC 5214, 6.1: an interface identifier of ISATAP stands below any prefix; bit 1 says whether its
 * address is unique. */
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
 * Whether a translator could lead there: a wrong guess finds the zeros beside an address, or the
 * 64:ff9b:1:fffe::/96 that operators like since it keeps checksums.
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
