/* SPDX-License-Identifier: Apache-2.0 */
/* Names of hosts as people write them, in their own letters. */
#include <string.h>

#include "base/net_idn.h"
#include "base/net_rule_parse.h"
#include "tests/support/testing.h"

TEST(a_name_outside_ascii_becomes_the_one_that_dns_has)
{
	static const struct {
		const char *text, *rule;
	} cases[] = {
		{"pypi.org:443", "pypi.org:443"},
		{"a..b", "a..b"}, /* what is ASCII is for others to judge */
		{"", ""},
		{"b\xc3\xbc"
	         "cher.example",
	         "xn--bcher-kva.example"},
		{"B\xc3\x9c"
	         "CHER.Example:443",
	         "xn--bcher-kva.example:443"},
		{"bu\xcc\x88"
	         "cher.example",
	         "xn--bcher-kva.example"}, /* u and its dots apart */
		{"**.b\xc3\xbc"
	         "cher.example:1-2",
	         "**.xn--bcher-kva.example:1-2"},
		{"b\xc3\xbc"
	         "cher.example:1@10.0.0.0/8",
	         "xn--bcher-kva.example:1@10.0.0.0/8"},
		{"stra\xc3\x9f"
	         "e.de",
	         "xn--strae-oqa.de"}, /* not strasse.de, which is another's */
		{"\xe4\xbe\x8b\xe5\xad\x90.\xe6\xb5\x8b\xe8\xaf\x95", "xn--fsqu00a.xn--0zwm56d"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = NULL;
		struct yett_error error = {0};

		if (net_idn_rule(cases[i].text, &text, &error) != 0)
			fail_msg("%s: %s", cases[i].text, error.message);
		assert_string_equal(text, cases[i].rule);
	}
}

TEST(what_no_name_can_have_is_refused)
{
	static const char *const wrong[] = {
		"a\xff.org", /* not UTF-8 */
		"b\xc3\xbc"
		"cher .org", /* a blank */
		"a.org\xef\xbc\x9a"
		"443", /* a wide colon, which would become one */
		"10.0.0.0\xef\xbc\x8f"
		"8",                             /* a wide slash */
		"x\xe2\x80\x8b\xe2\x80\xae.org", /* nothing to be seen, and the direction turned
	                                            round */
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		_cleanup_free_ char *text = NULL;
		struct yett_error error = {0};
		struct net_rule rule;
		int r = net_idn_rule(wrong[i], &text, &error);

		if (r == 0)
			r = net_rule_parse(text, &rule, &error);
		if (r != YETT_E_INVALID_REQUEST)
			fail_msg("%zu: %s", i, text);
		assert_non_null(strchr(error.message, '\''));
		assert_string_not_equal(error.mend, "");
	}
}

TEST_MAIN(NULL, NULL)
