/* SPDX-License-Identifier: Apache-2.0 */
/* What an address is called, which network it is in, and what lies behind it. */
#include <string.h>

#include "base/net_address.h"
#include "tests/support/testing.h"

/* xorshift: the same "random" addresses in every run. */
static uint32_t next_random(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static struct net_address address(const char *text)
{
	struct net_address parsed = {0};

	if (net_address_parse(text, &parsed) < 0)
		fail_msg("%s", text);
	return parsed;
}

TEST(each_address_has_one_text)
{
	static const char *const texts[][2] = {
		{"10.1.2.3", "10.1.2.3"},
		{"255.255.255.255", "255.255.255.255"},
		{"0.0.0.0", "0.0.0.0"},
		{"::ffff:10.1.2.3", "10.1.2.3"},
		{"::FFFF:0a01:0203", "10.1.2.3"},
		{"0:0:0:0:0:ffff:a01:203", "10.1.2.3"},
		{"::", "::"},
		{"::1", "::1"},
		{"0:0:0:0:0:0:0:1", "::1"},
		{"2001:DB8::1", "2001:db8::1"},
		{"2001:0db8:0:0:1:0:0:0", "2001:db8:0:0:1::"},
		{"64:ff9b::10.0.0.1", "64:ff9b::a00:1"},
	};
	char text[NET_ADDRESS_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct net_address parsed = address(texts[i][0]), again;

		assert_string_equal(net_address_print(&parsed, text), texts[i][1]);
		again = address(text);
		assert_int_equal(net_address_compare(&parsed, &again), 0);
	}
}

TEST(what_only_some_parsers_take_is_no_address)
{
	static const char *const texts[] = {
		"",           "1.2.3",          "127.1",         "2130706433", "0x7f000001",
		"0x7f.0.0.1", "0177.0.0.1",     "01.2.3.4",      "1.2.3.04",   "1.2.3.256",
		"1.2.3.4.",   "1.2.3.4.5",      " 1.2.3.4",      "1.2.3.4 ",   "1.2.3.4/32",
		"+1.2.3.4",   "1..2.3",         "::1%lo",        "fe80::1%1",  "[::1]",
		":::",        "1::2::3",        "1:2:3:4:5:6:7", "12345::",    "1:2:3:4:5:6:7:8:9",
		"::1.2.3",    "::01.2.3.4",     "::1.2.3.4:5",   "g::",        "localhost",
		"1.2.3.4\n",  "\xd9\xa1.2.3.4",
	};
	struct net_address parsed;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (net_address_parse(texts[i], &parsed) != -EINVAL)
			fail_msg("%s", texts[i]);
}

/* By the kind: the edges of each range, and what is just beyond them. */
static const struct expected {
	enum net_address_kind kind;
	const char *texts[64];
} expected[] = {
	{NET_ADDRESS_PUBLIC,
         {"1.0.0.0",
          "1.1.1.1",
          "9.255.255.255",
          "11.0.0.0",
          "100.63.255.255",
          "100.128.0.0",
          "126.255.255.255",
          "128.0.0.0",
          "168.63.129.15",
          "168.63.129.17",
          "169.253.255.255",
          "169.255.0.0",
          "172.15.255.255",
          "172.32.0.0",
          "192.0.1.0",
          "192.0.3.0",
          "192.88.98.255",
          "192.88.100.0",
          "192.167.255.255",
          "192.169.0.0",
          "198.17.255.255",
          "198.20.0.0",
          "198.51.99.255",
          "198.51.101.0",
          "203.0.112.255",
          "203.0.114.0",
          "223.255.255.255",
          "::ffff:8.8.8.8",
          "2000::",
          "2001:200::",
          "2001:db7:ffff::",
          "2001:db9::",
          "2003::",
          "2606:4700::1111",
          "3ffe:ffff::",
          "3fff:1000::",
          "64:ff9b::8.8.8.8",
          "2002:808:808::1",
          "2606:4700::5efe:8.8.8.8",
          "2606:4700::200:5efe:8.8.8.8"}},
	{NET_ADDRESS_PRIVATE,
         {"10.0.0.0",
          "10.255.255.255",
          "100.64.0.0",
          "100.100.100.199",
          "100.100.100.201",
          "100.127.255.255",
          "172.16.0.0",
          "172.31.255.255",
          "192.168.0.0",
          "192.168.255.255",
          "198.18.0.0",
          "198.19.255.255",
          "::ffff:192.168.1.1",
          "::ffff:a00:1",
          "fc00::",
          "fd00::42",
          "fd00:42::41",
          "fd00:ec1:ffff::",
          "fd00:ec3::",
          "fd20:ce::253",
          "fdff:ffff::1",
          "2001:2::",
          "2001:2:0:ffff::",
          "64:ff9b::10.1.2.3",
          "64:ff9b::192.168.0.1",
          "64:ff9b:1::",
          "64:ff9b:1::8.8.8.8",
          "64:ff9b:1::10.0.0.1",
          "64:ff9b:1:ffff::",
          "64:ff9b:1:fffe::8.8.8.8",
          "2002:a01:203::1",
          "2002:c0a8:1::",
          "2606:4700::5efe:10.0.0.1",
          "2606:4700::200:5efe:192.168.0.1",
          "fd01::5efe:8.8.8.8"}},
	{NET_ADDRESS_LOCAL,
         {"0.0.0.0", "0.255.255.255", "127.0.0.0", "127.0.0.1", "127.255.255.255",
          "::ffff:127.0.0.1", "::ffff:0.0.0.0", "::", "::1", "64:ff9b::127.0.0.1",
          "64:ff9b::", "64:ff9b::0.0.0.1", "64:ff9b:1::127.0.0.1", "2002:7f00:1::", "2002::1",
          "2606:4700::5efe:127.0.0.1"}},
	{NET_ADDRESS_LINK,
         {"169.254.0.0",
          "169.254.169.254",
          "169.254.255.255",
          "100.100.100.200",
          "168.63.129.16",
          "fe80::",
          "fe80::a9fe:a9fe",
          "febf:ffff::1",
          "fd00:ec2::254",
          "fd00:ec2::23",
          "fd00:ec2:ffff::",
          "fd20:ce::254",
          "fd00:c1::a9fe:a9fe",
          "fd00:42::42",
          "fd00:a9fe:a9fe::1",
          "fd00:100::100:200",
          "::ffff:169.254.169.254",
          "::ffff:a83f:8110",
          "64:ff9b::169.254.169.254",
          "64:ff9b::168.63.129.16",
          "64:ff9b:1::169.254.169.254",
          "64:ff9b:1:a9fe:a9:fe00::",
          "64:ff9b:1:a9:fe:a9fe::",
          "64:ff9b:1:0:a9:fea9:fe00:0",
          "2002:a9fe:a9fe::",
          "2002:6464:64c8::1",
          "2606:4700::5efe:169.254.169.254",
          "fd01::200:5efe:100.100.100.200"}},
	{NET_ADDRESS_NEVER,
         {"192.0.0.0",
          "192.0.0.192",
          "192.0.0.255",
          "192.0.2.1",
          "192.88.99.1",
          "198.51.100.1",
          "203.0.113.255",
          "224.0.0.0",
          "239.255.255.250",
          "240.0.0.0",
          "255.255.255.254",
          "255.255.255.255",
          "::ffff:255.255.255.255",
          "::2",
          "::8.8.8.8",
          "::127.0.0.1",
          "::10.0.0.1",
          "::ffff:0:8.8.8.8",
          "::ffff:0:127.0.0.1",
          "::fffe:8.8.8.8",
          "100::",
          "100:0:0:1::",
          "200::",
          "64:ff9a::8.8.8.8",
          "64:ff9b:0:0:1::8.8.8.8",
          "64:ff9b:2::1",
          "1fff:ffff::",
          "2001::",
          "2001:0:4136:e378:8000:63bf:3fff:fdd2",
          "2001:1::1",
          "2001:3::1",
          "2001:20::1",
          "2001:1ff:ffff::",
          "2001:db8::",
          "2001:db8:ffff::1",
          "3fff::",
          "3fff:fff:ffff::",
          "4000::",
          "5f00::1",
          "fbff::",
          "fe00::1",
          "fec0::1",
          "feff::1",
          "ff00::",
          "ff02::1",
          "ff0e::1",
          "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
          "64:ff9b::224.0.0.1",
          "64:ff9b::192.0.2.1",
          "2002:ffff:ffff::1",
          "2002:e000:1::",
          "2606:4700::5efe:255.255.255.255"}},
};

TEST(an_address_is_of_the_kind_of_what_it_leads_to)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		for (size_t j = 0; expected[i].texts[j]; j++) {
			struct net_address one = address(expected[i].texts[j]);

			if (net_address_kind(&one) != expected[i].kind)
				fail_msg("%s is %d, not %d", expected[i].texts[j],
				         net_address_kind(&one), expected[i].kind);
			assert_int_equal(net_address_network_kind(&one, NET_ADDRESS_PREFIX_MAX),
			                 expected[i].kind);
		}
}

/* IPv4 in the last four bytes, of which no guess has to be made; 6to4 has it in front. */
static struct net_address form_of(const struct net_address *v4, const char *form, size_t at)
{
	struct net_address made = address(form);

	memcpy(made.bytes + at, v4->bytes + 12, 4);
	return made;
}

static void check_forms(const struct net_address *v4, enum net_address_kind kind)
{
	static const struct {
		const char *form;
		size_t at;
	} forms[] = {{"64:ff9b::", 12},          {"2002::", 2}, {"2606:4700::5efe:0:0", 12},
	             {"2606::200:5efe:0:0", 12}, {"::2:0", 12}, {"::ffff:0:0:0", 12}};
	struct net_address local = form_of(v4, "64:ff9b:1::", 12);
	bool is_a_host = v4->bytes[12] != 0 && v4->bytes[12] < 224;

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct net_address form = form_of(v4, forms[i].form, forms[i].at);

		assert_true(net_address_kind(&form) >= kind);
	}
	assert_true(net_address_kind(&local) >=
	            (is_a_host && kind > NET_ADDRESS_PRIVATE ? kind : NET_ADDRESS_PRIVATE));
}

/* Whatever gateway is on the way: the strict kinds of IPv4 stay what they are in every form of it.
 */
TEST(no_form_of_an_address_is_less_strict_than_it)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		for (size_t j = 0; expected[i].texts[j]; j++) {
			struct net_address one = address(expected[i].texts[j]);

			if (net_address_is_v4(&one))
				check_forms(&one, expected[i].kind);
		}
}

TEST(what_an_address_embeds_is_never_stricter_than_it)
{
	const struct net_address local = address("64:ff9b:1::");
	uint32_t seed = 20241123;

	for (size_t i = 0; i < 5000; i++) {
		struct net_address one, embedded[NET_ADDRESS_EMBEDDED_MAX];
		size_t count;

		for (size_t j = 0; j < sizeof one.bytes; j++)
			one.bytes[j] = (uint8_t)next_random(&seed);
		if (i % 2)
			memcpy(one.bytes, local.bytes, 6);
		if (i % 3 == 0)
			memcpy(one.bytes + 8, "\0\0\x5e\xfe", 4);
		count = net_address_embedded(&one, embedded);
		assert_in_range(count, 0, NET_ADDRESS_EMBEDDED_MAX);
		while (count-- > 0) {
			assert_true(net_address_is_v4(&embedded[count]));
			assert_true(net_address_kind(&one) >= net_address_kind(&embedded[count]));
		}
	}
}

TEST(a_network_is_of_the_least_strict_kind_in_it)
{
	static const struct {
		const char *network;
		unsigned prefix;
		enum net_address_kind kind;
	} networks[] = {
		{"0.0.0.0", 96 + 0, NET_ADDRESS_PUBLIC},
		{"0.0.0.0", 96 + 8, NET_ADDRESS_LOCAL},
		{"10.0.0.0", 96 + 8, NET_ADDRESS_PRIVATE},
		{"10.0.0.0", 96 + 7, NET_ADDRESS_PUBLIC},
		{"10.1.0.0", 96 + 16, NET_ADDRESS_PRIVATE},
		{"100.64.0.0", 96 + 10, NET_ADDRESS_PRIVATE},
		{"127.0.0.0", 96 + 8, NET_ADDRESS_LOCAL},
		{"126.0.0.0", 96 + 7, NET_ADDRESS_PUBLIC},
		{"169.254.0.0", 96 + 16, NET_ADDRESS_LINK},
		{"224.0.0.0", 96 + 4, NET_ADDRESS_NEVER},
		{"172.16.0.0", 96 + 11, NET_ADDRESS_PUBLIC},
		{"::", 0, NET_ADDRESS_PUBLIC},
		{"::", 127, NET_ADDRESS_LOCAL},
		{"::", 8, NET_ADDRESS_PUBLIC},
		{"2000::", 3, NET_ADDRESS_PUBLIC},
		{"fc00::", 7, NET_ADDRESS_PRIVATE},
		{"fd00:ec2::", 32, NET_ADDRESS_LINK},
		{"fd00:ec2::", 48, NET_ADDRESS_LINK},
		{"64:ff9b::", 96, NET_ADDRESS_PUBLIC},
		{"64:ff9b::a00:0", 104, NET_ADDRESS_PUBLIC},
		{"64:ff9b:1::", 48, NET_ADDRESS_PRIVATE},
		{"2001:db8::", 32, NET_ADDRESS_NEVER},
		{"ff00::", 8, NET_ADDRESS_NEVER},
		{"64:ff9b::a00:1", 128, NET_ADDRESS_PRIVATE},
	};

	for (size_t i = 0; i < ARRAY_SIZE(networks); i++) {
		struct net_address network = address(networks[i].network);

		if (net_address_network_kind(&network, networks[i].prefix) != networks[i].kind)
			fail_msg("%s/%u", networks[i].network, networks[i].prefix);
	}
}

static bool has_same_bits(const struct net_address *a, const struct net_address *b, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (((a->bytes[i / 8] ^ b->bytes[i / 8]) >> (7 - i % 8)) & 1)
			return false;
	return true;
}

TEST(an_address_is_in_the_networks_that_begin_as_it_does)
{
	uint32_t seed = 271828;
	char text[NET_ADDRESS_TEXT_SIZE];

	for (size_t i = 0; i < 20000; i++) {
		struct net_address a, b, network, again;
		unsigned prefix = next_random(&seed) % (NET_ADDRESS_PREFIX_MAX + 1),
			 flip = next_random(&seed) % 128;

		for (size_t j = 0; j < sizeof a.bytes; j++)
			a.bytes[j] = i % 2 || j >= 12 ? (uint8_t)next_random(&seed)
			             : j < 10         ? 0
			                              : 0xff;
		b = a;
		b.bytes[flip / 8] ^= (uint8_t)(0x80 >> (flip % 8));
		network = net_address_masked(&b, prefix);
		assert_int_equal(
			net_address_is_in(&a, &network, prefix),
			has_same_bits(&a, &b, prefix) &&
				(prefix >= NET_ADDRESS_PREFIX_V4 || !net_address_is_v4(&a)));
		assert_true(has_same_bits(&network, &b, prefix));
		again = net_address_masked(&network, prefix);
		assert_int_equal(net_address_compare(&again, &network), 0);
		again = address(net_address_print(&a, text));
		assert_int_equal(net_address_compare(&again, &a), 0);
	}
}

TEST(a_network_of_one_family_holds_nothing_of_the_other)
{
	struct net_address v4 = address("10.0.0.1"), v6 = address("2001:db8::1"),
			   all = address("::"), all_v4 = address("0.0.0.0");

	assert_true(net_address_is_in(&v6, &all, 0));
	assert_false(net_address_is_in(&v4, &all, 0));
	assert_true(net_address_is_in(&v4, &all_v4, NET_ADDRESS_PREFIX_V4));
	assert_false(net_address_is_in(&v6, &all_v4, NET_ADDRESS_PREFIX_V4));
	assert_false(net_address_covers(&all, 0, &all_v4, NET_ADDRESS_PREFIX_V4));
	assert_true(net_address_covers(&all, 0, &all, 0));
	assert_false(net_address_covers(&v4, 128, &all_v4, NET_ADDRESS_PREFIX_V4));
	assert_true(net_address_covers(&all_v4, NET_ADDRESS_PREFIX_V4, &v4, 128));
}

TEST_MAIN(NULL, NULL)
