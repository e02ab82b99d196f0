/* SPDX-License-Identifier: Apache-2.0 */
/* What people may write as a rule, what they are told of all else, and which rule allows what
 * another does. */
#include <stdio.h>
#include <string.h>

#include "base/net_rule_parse.h"
#include "tests/support/testing.h"

#define X10  "xxxxxxxxxx"
#define X60  X10 X10 X10 X10 X10 X10
#define X63  X60 "xxx"
#define X253 X63 "." X63 "." X63 "." X60 "x"
#define X300 X60 X60 X60 X60 X60

static struct net_rule rule(const char *text)
{
	struct net_rule parsed = {0};
	struct yett_error error = {0};

	if (net_rule_parse(text, &parsed, &error) != 0)
		fail_msg("%s: %s", text, error.message);
	return parsed;
}

/* What is written, and the one text of it. */
static const char *const good[][2] = {
	{"api.github.com:443", "api.github.com:443"},
	{"API.GitHub.com.:443", "api.github.com:443"},
	{"*.pkg.example.net", "*.pkg.example.net"},
	{"**.example.org:443", "**.example.org:443"},
	{"*.example.org.:1-65535", "*.example.org"},
	{"10.1.0.0/16:5432", "10.1.0.0/16:5432"},
	{"10.1.2.3/32:5432", "10.1.2.3:5432"},
	{"10.1.2.3", "10.1.2.3"},
	{"0.0.0.0/0", "0.0.0.0/0"},
	{"git.example.org:22", "git.example.org:22"},
	{"*:8000-8010", "*:8000-8010"},
	{"*:8000-8000", "*:8000"},
	{"*", "*"},
	{"[2001:db8::/32]:443", "[2001:db8::/32]:443"},
	{"[::1]:80", "[::1]:80"},
	{"[::1]", "[::1]"},
	{"::1", "[::1]"},
	{"::/0", "[::/0]"},
	{"2001:DB8:0::/32", "[2001:db8::/32]"},
	{"2606:4700::1234:f", "[2606:4700::1234:f]"},
	{"[2606:4700::34:443]", "[2606:4700::34:443]"},
	{"1:2:3:4:5:6:7:443", "[1:2:3:4:5:6:7:443]"},
	{"2001:db8::443", "[2001:db8::443]"},
	{"[::ffff:10.0.0.0/104]:80", "10.0.0.0/8:80"},
	{"::ffff:10.0.0.1", "10.0.0.1"},
	{"db.internal:5432@10.0.0.0/8", "db.internal:5432@10.0.0.0/8"},
	{"DB.internal@10.0.0.1", "db.internal@10.0.0.1"},
	{"db.internal:1-9@fd00::/8", "db.internal:1-9@fd00::/8"},
	{"localhost.example:8080", "localhost.example:8080"},
	{"_sip._tcp.example.org:5060", "_sip._tcp.example.org:5060"},
	{"a_b.example", "a_b.example"},
	{"3com.example:65535", "3com.example:65535"},
	{"1.2.3.4.in-addr.example:1", "1.2.3.4.in-addr.example:1"},
	{"xn--bcher-kva.example:443", "xn--bcher-kva.example:443"},
	{"80-20", "80-20"},
	{X253 ":443", X253 ":443"},
	{"**." X253 ":10000-20000", "**." X253 ":10000-20000"},
	{"notinject.internal:1", "notinject.internal:1"},
	{"inject.internal.example:1", "inject.internal.example:1"},
};

TEST(a_rule_is_printed_in_its_one_text_and_read_again_as_itself)
{
	char text[NET_RULE_TEXT_SIZE];

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		struct net_rule one = rule(good[i][0]), again;

		assert_string_equal(net_rule_print(&one, text), good[i][1]);
		again = rule(text);
		assert_memory_equal(&one, &again, sizeof one);
		assert_true(net_rule_is_valid(&one));
	}
}

TEST(the_longest_rule_fits)
{
	char text[NET_RULE_TEXT_SIZE];
	struct net_rule one = rule(X253 ":10000-20000@2001:1111:1111:1111:1111:1111:1111:1110/127"),
			again;

	again = rule(net_rule_print(&one, text));
	assert_memory_equal(&one, &again, sizeof one);
	assert_int_equal(one.prefix, 127);
}

/* The text, what is said of it, and what would do. */
static const char *const bad[][3] = {
	{"", "names no host", "HOST:PORT"},
	{":443", "names no host", "*:PORT"},
	{":", "names no host", ""},
	{"@10.0.0.0/8", "names no host", ""},
	{"a..b", "'a..b' has an empty label", "one dot"},
	{".a:443", "empty label", ""},
	{"a..:443", "empty label", ""},
	{".:1", "empty label", ""},
	{"1.2.3.4/33", "has a prefix that no such address has", "/0 to /32"},
	{"1.2.3.4/033", "has a prefix that", ""},
	{"10.0.0.0/08", "has a prefix that", ""},
	{"10.0.0.0/", "has a prefix that", ""},
	{"10.0.0.0/-1", "has a prefix that", ""},
	{"10.0.0.0/255.0.0.0", "has a prefix that", ""},
	{"[2001:db8::/129]:443", "has a prefix that", "/0 to /128"},
	{"10.1.2.3/8", "inside the network", "write 10.0.0.0/8 for the network"},
	{"10.1.2.3/8:443", "inside the network", "write 10.0.0.0/8 for"},
	{"[2001:db8::1/32]:443", "inside the network", "write [2001:db8::/32] for"},
	{"::ffff:10.1.2.3/104", "inside the network", "write 10.0.0.0/8 for"},
	{"10.1.2.3/0", "inside the network", "write 0.0.0.0/0 for"},
	{"::1/0", "inside the network", "write [::/0] for"},
	{"example.org/8:443", "has a prefix, but no address", ""},
	{"example.org/index.html", "has a path, and a rule is only its host and port",
         "write example.org"},
	{"example.org/", "has a path", "write example.org"},
	{"example.org:8443/a/1", "has a path", "write example.org:8443"},
	{"10.1.2.3:80/a", "has a path", "write 10.1.2.3:80"},
	{"github.com:owner/repository.git", "has a path", "write github.com:22"},
	{"git@github.com:owner/repository.git", "has a user before the host",
         "write github.com:22"},
	{"git@github.com:22", "has a user before the host", "write github.com:22"},
	{"git@10.1.2.3:a", "has a user before the host", "write 10.1.2.3:22"},
	{"user@example.org", "has a user before the host", "write example.org"},
	{"user@" X300, "has a user before the host", "write HOST"},
	{"localhost", "'localhost' is the sandbox itself", "write NAME:PORT@127.0.0.1"},
	{"LocalHost.:8080", "is the sandbox itself", ""},
	{"**.localhost", "is the sandbox itself", ""},
	{"app.localhost:80@127.0.0.1", "is the sandbox itself", ""},
	{"2606:4700::34:443", "has no brackets",
         "write [2606:4700::34]:443 if 443 is the port, or [2606:4700::34:443] if it belongs to the address"},
	{"2606:4700::34:65000", "has no brackets", "write [2606:4700::34]:65000"},
	{"1:2:3:4:5:6:7:8:443", "has no brackets", "write [1:2:3:4:5:6:7:8]:443"},
	{"2001:db8::/32:443", "has no brackets", "write [2001:db8::/32]:443"},
	{"::1:80", "has no brackets", "write [::1]:80 if 80 is the port, or [::1:80] if it"},
	{"//example.org", "has a prefix, but no address", ""},
	{"x:0", "has no port that there is", "1 to 65535"},
	{"x:70000", "has no port that there is", "1 to 65535"},
	{"x:65536", "has no port", ""},
	{"x:18446744073709551617", "has no port", ""},
	{"x:", "has no port", ""},
	{"x:https", "has a word for a port", ""},
	{"x:0443", "has no port", ""},
	{"x:+443", "has no port", ""},
	{"x:443,80", "has a comma", "--allow A --allow B"},
	{"x:*", "has no port", ""},
	{"x:0-10", "has no port", ""},
	{"x:10-", "has no port", ""},
	{"x:-10", "has no port", ""},
	{"x:1-2-3", "has no port", ""},
	{"x:80-70000", "has no port", ""},
	{"*:80-20", "end before they begin", "write :20-80"},
	{"[::1]:80-20", "end before they begin", "write :20-80"},
	{X300 ":443", "...' has a label of more than 63", ""},
	{X63 "x:443", "has a label of more than 63", ""},
	{X253 "x:443", "longer than 253", ""},
	{"*." X253 "x:443", "longer than 253", ""},
	{X300 X300 X300, "is longer than any rule", ""},
	{"-a.example", "begins or ends with a hyphen", ""},
	{"a-.example", "begins or ends with a hyphen", ""},
	{"a.-", "begins or ends with a hyphen", ""},
	{"a.example_org", "underscore in its last label", ""},
	{"a_b", "underscore in its last label", ""},
	{"a!b.example", "character that names of hosts do not have", ""},
	{"a%b.example:1", "character that names", ""},
	{"user:pass", "has a word for a port", "write the port as a number, like :443"},
	{"b\xc3\xbc"
         "cher.example:443",
         "'b\\xc3\\xbccher.example:443' has a letter outside ASCII", "xn--"},
	{"a b:443", "space or control", ""},
	{"a\n:443", "'a\\x0a:443' has a space", ""},
	{" a:443", "space or control", ""},
	{"a:443,b:443", "has a comma", "write one rule each"},
	{"1.2.3.4.5:443", "last label is a number", "decimal"},
	{"1.2.3:443", "last label is a number", ""},
	{"127.1", "last label is a number", ""},
	{"2130706433:80", "last label is a number", ""},
	{"0177.0.0.1:80", "last label is a number", "without leading zeros"},
	{"0x7f000001:80", "last label is a number", ""},
	{"0x7f.0.0.0X1", "last label is a number", ""},
	{"1.2.3.4.:80", "last label is a number", ""},
	{"*.1.2.3.4:80", "last label is a number", ""},
	{"443", "last label is a number", ""},
	{"*.", "is empty", "api.example.org"},
	{"**.:443", "is empty", ""},
	{"**", "* in another place", "**.NAME"},
	{"**:443", "* in another place", ""},
	{"***.example.org", "* in another place", ""},
	{"a.*.example.org", "* in another place", ""},
	{"*example.org:443", "* in another place", ""},
	{"*.*.example.org:443", "* in another place", ""},
	{"10.*:443", "* in another place", ""},
	{"fe80::1%lo", "more than one colon, but is no address of IPv6", "[ADDRESS]:PORT"},
	{"a:b:c", "more than one colon", ""},
	{"x:1:2", "more than one colon", ""},
	{"10.0.0.1:1:2", "more than one colon", ""},
	{"::g", "more than one colon", ""},
	{"[::1", "brackets", "[ADDRESS]:PORT"},
	{"[::1]80", "brackets", ""},
	{"[::1]/64:80", "brackets", "[ADDRESS/PREFIX]:PORT"},
	{"[]:80", "brackets", ""},
	{"[10.0.0.1]:80", "brackets", ""},
	{"[example.org]:80", "brackets", ""},
	{"[::g]:80", "more than one colon", ""},
	{"*:443@10.0.0.0/8", "binds something else than one name", "NAME:PORT@NETWORK"},
	{"*.x:443@10.0.0.0/8", "binds something else", ""},
	{"10.0.0.1:443@10.0.0.0/8", "binds something else", ""},
	{"db:443@", "no network after the @", "@10.0.0.0/8"},
	{"db:443@x", "no network after the @", ""},
	{"db@10.0.0.0/8@10.0.0.0/8", "has a prefix that", ""},
	{"db:443@10.0.0.1/8", "inside the network", "10.0.0.0/8"},
	{"db@[fd00::]/8", "has a prefix, but no address", ""},
	{"db@fd00::g/8", "has a prefix, but no address", ""},
	{"https://example.org/a?b", "is a URL", "write example.org:443"},
	{"HTTP://example.org", "is a URL", "write example.org:80"},
	{"https://u:p@example.org:8443/", "is a URL", "write example.org:8443"},
	{"https://[::1]:80/x", "is a URL", "write [::1]:80"},
	{"https://[::1]/x", "is a URL", "write [::1]:443"},
	{"ftp://example.org", "is a URL", "write example.org:PORT"},
	{"https://", "is a URL", "write HOST:443"},
	{"https://" X300, "is a URL", "write HOST:443"},
	{"https://a'b\\", "is a URL", "write a\\x27b\\x5c:443"},
	{"://", "is a URL", ""},
	{"inject.internal", "is reserved for credentials", "not in inject.internal"},
	{"INJECT.internal.:443", "is reserved", ""},
	{"key.inject.internal:443", "is reserved", ""},
	{"**.inject.internal:443", "is reserved", ""},
	{"*.a.inject.internal", "is reserved", ""},
};

TEST(a_bad_rule_is_refused_with_its_text_and_what_would_do)
{
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct net_rule untouched, one;
		struct yett_error error = {0};

		memset(&one, 0xa5, sizeof one);
		untouched = one;
		if (net_rule_parse(bad[i][0], &one, &error) != YETT_E_INVALID_REQUEST ||
		    error.code != YETT_E_INVALID_REQUEST)
			fail_msg("%s is taken", bad[i][0]);
		if (!strstr(error.message, bad[i][1]) || !strstr(error.mend, bad[i][2]) ||
		    !error.mend[0] || error.message[0] != '\'')
			fail_msg("%s: %s; %s", bad[i][0], error.message, error.mend);
		assert_memory_equal(&one, &untouched, sizeof one);
		assert_true(strlen(error.message) < sizeof error.message - 1);
		assert_int_equal(net_rule_parse(bad[i][0], &one, NULL), YETT_E_INVALID_REQUEST);
	}
}

/* Not HOST:PORT, nor ports alone, nor what was escaped to be shown, nor a word of a sentence. */
static bool is_whole_rule(const char *text)
{
	return !strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ\\*") && strpbrk(text, ".:/") > text;
}

TEST(what_a_message_offers_is_taken)
{
	size_t offered = 0;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct net_rule one;
		struct yett_error error = {0};
		char text[sizeof error.mend];

		assert_int_equal(net_rule_parse(bad[i][0], &one, &error), YETT_E_INVALID_REQUEST);
		if (sscanf(error.mend, "write %255s", text) != 1 || !is_whole_rule(text))
			continue;
		(void)rule(text);
		offered++;
	}
	assert_true(offered >= 10);
}

TEST(a_name_has_one_form)
{
	static const char dirty[] = "a\0b.example";
	char name[NET_NAME_SIZE], zeros[NET_NAME_SIZE] = {0};

	assert_null(net_name_canonical("A.Example.Org.tail", 14, name));
	assert_string_equal(name, "a.example.org");
	assert_memory_equal(name + 13, zeros, sizeof name - 13);
	assert_non_null(net_name_canonical(dirty, sizeof dirty - 1, name));
	assert_non_null(net_name_canonical("", 0, name));
	assert_non_null(net_name_canonical(".", 1, name));
	assert_string_equal(net_name_canonical("\xc3\xbc", 2, name)->mend,
	                    "write it as xn--..., the form that DNS has of it");
	assert_null(net_name_canonical(X253 ".", 254, name));
	assert_non_null(net_name_canonical(X253 "..", 255, name));
	for (unsigned c = 0; c < 256; c++) {
		const char text[] = {'a', (char)c, 'b', '.', 'c'};
		bool is_right = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		                (c >= 'A' && c <= 'Z') || strchr("-._", (int)c);

		assert_int_equal(!net_name_canonical(text, sizeof text, name), is_right && c);
	}
}

TEST(one_name_is_below_another_at_a_dot_only)
{
	assert_true(net_name_is_below("a.example.org", "example.org"));
	assert_true(net_name_is_below("b.a.example.org", "example.org"));
	assert_false(net_name_is_below("example.org", "example.org"));
	assert_false(net_name_is_below("aexample.org", "example.org"));
	assert_false(net_name_is_below("org", "example.org"));
	assert_false(net_name_is_below("example.org.a", "example.org"));
	assert_string_equal(net_name_parent("a.b.c"), "b.c");
	assert_null(net_name_parent("a"));
}

/* A byte of a valid rule, and what a peer might put there. */
static const struct {
	size_t at;
	uint8_t byte;
	const char *of;
} changes[] = {
#define AT(field) offsetof(struct net_rule, field)
	{AT(kind), NET_RULE_ADDRESS + 1, "x:1"},
	{AT(kind), 255, "x:1"},
	{AT(kind), NET_RULE_ANY, "x:1"},
	{AT(kind), NET_RULE_ADDRESS, "x:1"},
	{AT(kind), NET_RULE_NAME, "*:1"},
	{AT(kind), NET_RULE_NAME, "10.0.0.1:1"},
	{AT(kind), NET_RULE_BELOW, "x@10.0.0.1"},
	{AT(is_bound), 2, "x@10.0.0.1"},
	{AT(is_bound), 0, "x@10.0.0.1"},
	{AT(is_bound), 1, "10.0.0.1"},
	{AT(is_bound), 1, "*.x"},
	{AT(is_bound), 1, "*"},
	{AT(prefix), 1, "x:1"},
	{AT(prefix), 129, "10.0.0.1"},
	{AT(prefix), 127, "10.0.0.1"},
	{AT(prefix), 0, "10.0.0.0/8"},
	{AT(reserved), 1, "x:1"},
	{AT(port_first), 2, "x:1"},
	{AT(port_first), 0, "x:1"},
	{AT(port_last), 0, "x:1"},
	{AT(address), 1, "x:1"},
	{AT(address.bytes[15]), 1, "10.0.0.0/8"},
	{AT(name), 'X', "x:1"},
	{AT(name), 0, "x:1"},
	{AT(name), 'x', "*"},
	{AT(name), 'x', "::1"},
	{AT(name[1]), '.', "x:1"},
	{AT(name[2]), 'x', "x:1"},
	{AT(name[253]), 'x', "x:1"},
	{AT(name[0]), '0', "x:1"},
	{AT(name[253]), 'x', X253},
#undef AT
};

TEST(what_a_peer_made_up_is_not_valid)
{
	struct net_rule all;

	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		struct net_rule one = rule(changes[i].of);

		assert_true(net_rule_is_valid(&one));
		((uint8_t *)&one)[changes[i].at] = changes[i].byte;
		if (net_rule_is_valid(&one))
			fail_msg("byte %zu of %s", changes[i].at, changes[i].of);
	}
	memset(&all, 'a', sizeof all);
	assert_false(net_rule_is_valid(&all));
	memset(&all, 0, sizeof all);
	assert_false(net_rule_is_valid(&all));
}

/* Of these the first covers the second. */
static const char *const covered[][2] = {
	{"x:443", "x:443"},
	{"x", "x:443"},
	{"x:1-100", "x:2-99"},
	{"*", "x:443"},
	{"*", "**.x"},
	{"*", "*"},
	{"*:443", "*:443"},
	{"*:443", "1.1.1.1:443"},
	{"*:443", "0.0.0.0/0:443"},
	{"*:443", "x:443@1.0.0.0/8"},
	{"*.x", "a.x"},
	{"*.x", "*.x"},
	{"**.x", "a.x"},
	{"**.x", "b.a.x"},
	{"**.x", "*.x"},
	{"**.x", "**.x"},
	{"**.x", "*.a.x"},
	{"**.x", "**.a.x"},
	{"*.x", "a.x@1.1.1.1"},
	{"x", "x@1.1.1.1"},
	{"x@10.0.0.0/8", "x@10.0.0.0/8"},
	{"x@10.0.0.0/8", "x:1@10.1.0.0/16"},
	{"10.0.0.0/8", "10.1.0.0/16:5432"},
	{"0.0.0.0/0", "1.0.0.0/8"},
	{"0.0.0.0/0", "169.254.0.0/16"},
	{"::/0", "2606::/16"},
	{"fc00::/7", "fd00::/8"},
};
/* Of these the first does not cover the second. */
static const char *const wider[][2] = {
	{"x:443", "x:444"},
	{"x:443", "x"},
	{"x:1-100", "x:99-101"},
	{"x", "y"},
	{"x", "*.x"},
	{"x", "*"},
	{"*:443", "*"},
	{"*", "10.0.0.1"},
	{"*", "127.0.0.1"},
	{"*", "x@10.0.0.0/8"},
	{"*", "x@127.0.0.1"},
	{"*.x", "x"},
	{"*.x", "b.a.x"},
	{"*.x", "**.x"},
	{"*.x", "*.a.x"},
	{"**.x", "x"},
	{"**.x", "ax"},
	{"**.x", "a.x@10.0.0.1"},
	{"**.x", "*"},
	{"**.a.x", "**.x"},
	{"x", "x@10.0.0.0/8"},
	{"x@10.0.0.0/8", "x"},
	{"x@10.0.0.0/8", "y@10.0.0.0/8"},
	{"x@10.0.0.0/8", "x@11.0.0.0/8"},
	{"x@0.0.0.0/0", "x@10.0.0.0/8"},
	{"x@10.0.0.0/8", "10.0.0.1"},
	{"10.0.0.0/8", "x@10.0.0.0/8"},
	{"10.0.0.0/8", "10.0.0.0/7"},
	{"10.0.0.0/8:80", "10.0.0.0/8:81"},
	{"10.0.0.0/8", "*"},
	{"0.0.0.0/0", "10.0.0.0/8"},
	{"0.0.0.0/0", "127.0.0.1"},
	{"::/0", "10.0.0.1"},
	{"::/0", "0.0.0.0/0"},
	{"::/0", "::1"},
	{"64:ff9b::/96", "[64:ff9b::a00:1]"},
	{"0.0.0.0/0", "*"},
};

TEST(a_rule_covers_what_allows_no_more)
{
	for (size_t i = 0; i < ARRAY_SIZE(covered) + ARRAY_SIZE(wider); i++) {
		const char *const *texts =
			i < ARRAY_SIZE(covered) ? covered[i] : wider[i - ARRAY_SIZE(covered)];
		struct net_rule outer = rule(texts[0]), inner = rule(texts[1]);

		if (net_rule_covers(&outer, &inner) != (i < ARRAY_SIZE(covered)))
			fail_msg("%s and %s", texts[0], texts[1]);
	}
}

TEST(a_rule_that_would_allow_nothing_is_known)
{
	static const char *const nothing[] = {"169.254.169.254:80", "169.254.0.0/16",
	                                      "[fd00:ec2::254]:80", "224.0.0.0/4",
	                                      "x@169.254.0.0/16",   "[::1:80]"};
	static const char *const something[] = {"*",          "x",         "*.x",
	                                        "10.0.0.0/8", "127.0.0.1", "0.0.0.0/0",
	                                        "::/0",       "x@::1",     "169.254.0.0/15"};

	for (size_t i = 0; i < ARRAY_SIZE(nothing); i++) {
		struct net_rule one = rule(nothing[i]);

		assert_true(net_rule_allows_nothing(&one));
	}
	for (size_t i = 0; i < ARRAY_SIZE(something); i++) {
		struct net_rule one = rule(something[i]);

		assert_false(net_rule_allows_nothing(&one));
	}
}

TEST_MAIN(NULL, NULL)
