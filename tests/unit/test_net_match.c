/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of rules between processes, and the decision by them: in chosen cases, and against a second
 * implementation that looks at every rule.
 */
#include <stdio.h>
#include <string.h>

#include "base/net_match.h"
#include "tests/support/testing.h"

#define LIST_SIZE (1u << 20)

static _Alignas(NET_LIST_ALIGN) char memory[LIST_SIZE];
static struct net_list *const list = (struct net_list *)memory;

/* xorshift: the same "random" rules in every run. */
static uint32_t seed = 31415926;
static uint32_t below(uint32_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed % limit;
}

static struct net_address address(const char *text)
{
	struct net_address parsed = {0};

	if (net_address_parse(text, &parsed) < 0)
		fail_msg("%s", text);
	return parsed;
}

/* Networks of every kind, inside each other and beside; the rules' and those that addresses are
 * taken from. */
static const struct {
	const char *first;
	uint8_t bits;
} networks[] = {{"0.0.0.0", 0},
                {"10.0.0.0", 8},
                {"10.1.0.0", 16},
                {"10.1.2.3", 32},
                {"10.0.0.0", 7},
                {"127.0.0.0", 8},
                {"127.0.0.1", 32},
                {"1.0.0.0", 8},
                {"1.2.0.0", 16},
                {"1.2.3.4", 32},
                {"169.254.0.0", 16},
                {"100.64.0.0", 10},
                {"::", 0},
                {"2606::", 16},
                {"2606::1", 128},
                {"fc00::", 7},
                {"fd00:ec2::", 32},
                {"::1", 128},
                {"64:ff9b::", 96},
                {"2002::", 16},
                {"2002:a01:203::", 48},
                {"64:ff9b::a01:203", 128},
                {"64:ff9b:1::", 48},
                {"2606::5efe:a01:203", 128},
                {"224.0.0.0", 4},
                {"198.18.0.0", 15}};

static const char *const names[] = {"x", "a.x", "b.x", "b.a.x", "c.b.a.x",
                                    "y", "a.y", "ax",  "a.b.x", "aa.x"};

static struct net_rule make(uint8_t kind, const char *name, unsigned first, unsigned last)
{
	struct net_rule rule = {
		.kind = kind, .port_first = (uint16_t)first, .port_last = (uint16_t)last};

	(void)snprintf(rule.name, sizeof rule.name, "%s", name);
	return rule;
}

static void set_network(struct net_rule *rule, const char *first, unsigned bits)
{
	rule->address = address(first);
	rule->prefix =
		(uint8_t)(bits + (net_address_is_v4(&rule->address) ? NET_ADDRESS_PREFIX_V4 : 0));
}

static struct net_rule random_rule(void)
{
	static const uint16_t ports[][2] = {{1, 65535},   {443, 443}, {80, 80},      {80, 443},
	                                    {8000, 8010}, {1, 1},     {65535, 65535}};
	size_t port = below(ARRAY_SIZE(ports)), network = below(ARRAY_SIZE(networks));
	uint8_t kind = (uint8_t)below(NET_RULE_ADDRESS + 1);
	bool has_name = kind != NET_RULE_ANY && kind != NET_RULE_ADDRESS;
	struct net_rule rule = make(kind, has_name ? names[below(ARRAY_SIZE(names))] : "",
	                            ports[port][0], ports[port][1]);

	rule.is_bound = kind == NET_RULE_NAME && below(2);
	if (kind == NET_RULE_ADDRESS || rule.is_bound)
		set_network(&rule, networks[network].first, networks[network].bits);
	assert_true(net_rule_is_valid(&rule));
	return rule;
}

static struct net_address random_address(void)
{
	size_t network = below(ARRAY_SIZE(networks));
	struct net_address first = address(networks[network].first);
	unsigned bits =
		networks[network].bits + (net_address_is_v4(&first) ? NET_ADDRESS_PREFIX_V4 : 0);

	/* The first, or one with bits of which some network has none. */
	for (unsigned i = below(3) ? 128 : bits; i < 128; i++)
		if (below(2))
			first.bytes[i / 8] |= (uint8_t)(0x80 >> (i % 8));
	return first;
}

static struct net_question random_question(void)
{
	static const uint16_t ports[] = {1,    80,   81,   442,  443,   444,
	                                 7999, 8000, 8010, 8011, 65535, 22};
	size_t name = below(2 * ARRAY_SIZE(names));

	return (struct net_question){.name = name < ARRAY_SIZE(names) ? names[name] : NULL,
	                             .address = random_address(),
	                             .port = below(50) ? ports[below(ARRAY_SIZE(ports))] : 0,
	                             .allows_private = below(2),
	                             .mode = below(2) ? NET_MATCH_OPEN : NET_MATCH_LIMITED};
}

static void add(enum net_list_kind kind, const struct net_rule *rule, uint32_t origin)
{
	assert_int_equal(net_list_add(list, LIST_SIZE, kind, rule, origin), 0);
}

/* The second implementation. It knows nothing of hashes, and of addresses only which kind they
 * have. */

static bool is_in(const struct net_address *one, const struct net_rule *rule)
{
	if (net_address_is_v4(one) != net_address_is_v4(&rule->address))
		return false;
	for (unsigned i = 0; i < rule->prefix; i++)
		if ((one->bytes[i / 8] ^ rule->address.bytes[i / 8]) & (0x80 >> (i % 8)))
			return false;
	return true;
}

static bool any_form_is_in(const struct net_address *one, const struct net_rule *rule)
{
	struct net_address forms[NET_ADDRESS_EMBEDDED_MAX];
	size_t count = net_address_embedded(one, forms);
	bool found = is_in(one, rule);

	while (count-- > 0)
		found = found || is_in(&forms[count], rule);
	return found;
}

static bool name_fits(const struct net_rule *rule, const char *name)
{
	size_t length = strlen(name), tail = strlen(rule->name), before = length - tail;

	if (rule->kind == NET_RULE_NAME)
		return strcmp(name, rule->name) == 0;
	if (length < tail + 2 || strcmp(name + before, rule->name) != 0 || name[before - 1] != '.')
		return false;
	return rule->kind == NET_RULE_BELOW || !memchr(name, '.', before - 1);
}

static bool fits(const struct net_rule *rule, const struct net_question *question, bool is_deny)
{
	bool leads_there = is_deny ? any_form_is_in(&question->address, rule)
	                           : is_in(&question->address, rule);

	if (question->port < rule->port_first || question->port > rule->port_last)
		return false;
	if (rule->kind == NET_RULE_ANY)
		return true;
	if (rule->kind == NET_RULE_ADDRESS)
		return leads_there && (is_deny || !question->name);
	return question->name && name_fits(rule, question->name) &&
	       (!rule->is_bound || leads_there);
}

static bool names_it(const struct net_rule *rule, const struct net_question *question)
{
	if (question->port < rule->port_first || question->port > rule->port_last)
		return false;
	if (rule->kind != NET_RULE_ADDRESS &&
	    !(rule->is_bound && question->name && name_fits(rule, question->name)))
		return false;
	return is_in(&question->address, rule) &&
	       net_address_network_kind(&rule->address, rule->prefix) ==
	               net_address_kind(&question->address);
}

static enum net_verdict naive_kind(const struct net_question *question, bool is_named)
{
	switch (net_address_kind(&question->address)) {
	case NET_ADDRESS_PUBLIC:
		return NET_VERDICT_ALLOWED;
	case NET_ADDRESS_PRIVATE:
		return is_named || question->allows_private ? NET_VERDICT_ALLOWED
		                                            : NET_VERDICT_PRIVATE;
	case NET_ADDRESS_LOCAL:
		return is_named ? NET_VERDICT_ALLOWED : NET_VERDICT_LOCAL;
	case NET_ADDRESS_LINK:
	case NET_ADDRESS_NEVER:
		break;
	}
	return NET_VERDICT_NEVER;
}

static enum net_verdict naive(const struct net_question *question,
                              const struct net_record **ret_record)
{
	const struct net_record *denying = NULL, *allowing = NULL, *bound = NULL;
	bool is_named = false;

	for (const struct net_record *record = NULL; (record = net_list_next(list, record));) {
		bool is_deny = record->list == NET_LIST_DENY, does_fit;
		struct net_question moved = *question;
		struct net_rule rule;

		net_list_rule(record, &rule);
		does_fit = fits(&rule, question, is_deny);
		is_named = is_named || (!is_deny && names_it(&rule, question));
		if (does_fit && is_deny && !denying)
			denying = record;
		if (does_fit && !is_deny && !allowing)
			allowing = record;
		moved.address = rule.address;
		if (!is_deny && rule.is_bound && !bound && fits(&rule, &moved, false))
			bound = record;
	}
	*ret_record = NULL;
	if (question->port == 0)
		return NET_VERDICT_NEVER;
	*ret_record = denying;
	if (denying)
		return NET_VERDICT_DENIED_BY_RULE;
	if (naive_kind(question, true) == NET_VERDICT_NEVER)
		return NET_VERDICT_NEVER;
	*ret_record = allowing ? allowing : question->mode == NET_MATCH_LIMITED ? bound : NULL;
	if (!allowing && question->mode == NET_MATCH_LIMITED)
		return bound ? NET_VERDICT_NOT_BOUND : NET_VERDICT_NO_RULE;
	return naive_kind(question, is_named);
}

TEST(the_index_decides_as_who_looks_at_every_rule)
{
	size_t seen[NET_VERDICT_NEVER + 1] = {0};

	for (size_t round = 0; round < 1000; round++) {
		_cleanup_(net_match_freep) struct net_match *match = NULL;
		uint32_t count = below(round % 20 == 0 ? 300 : 12), deny_of = 2 + below(12);

		net_list_begin(list);
		for (uint32_t i = 0; i < count; i++) {
			struct net_rule rule = random_rule();

			add(below(deny_of) ? NET_LIST_ALLOW : NET_LIST_DENY, &rule, i);
		}
		assert_true(net_list_check(memory, list->size));
		assert_int_equal(net_match_new(list, &match), 0);
		for (size_t i = 0; i < 100; i++) {
			struct net_question question = random_question();
			const struct net_record *record, *expected_record;
			enum net_verdict verdict = net_match_decide(match, &question, &record),
					 expected = naive(&question, &expected_record);

			assert_int_equal(verdict, expected);
			assert_ptr_equal(record, expected_record);
			seen[verdict]++;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(seen); i++)
		assert_true(seen[i] >= 100); /* or the questions were not worth asking */
}

static bool allows(const struct net_rule *rule, const struct net_question *question)
{
	_cleanup_(net_match_freep) struct net_match *match = NULL;
	const struct net_record *record;

	net_list_begin(list);
	add(NET_LIST_ALLOW, rule, 0);
	assert_int_equal(net_match_new(list, &match), 0);
	return net_match_decide(match, question, &record) == NET_VERDICT_ALLOWED;
}

/* What is said of covering, by asking. */
TEST(a_rule_that_covers_another_allows_all_that_it_does)
{
	size_t covering = 0;

	for (size_t round = 0; round < 10000; round++) {
		struct net_rule outer = random_rule(), inner = random_rule();

		if (round % 2)
			outer.port_first = 1, outer.port_last = NET_RULE_PORT_MAX;
		if (!net_rule_covers(&outer, &inner))
			continue;
		covering++;
		for (size_t i = 0; i < 100; i++) {
			struct net_question question = random_question();

			question.mode = NET_MATCH_LIMITED;
			if (question.name && inner.name[0] && below(2))
				question.name = inner.name;
			if (allows(&inner, &question))
				assert_true(allows(&outer, &question));
		}
	}
	assert_true(covering > 200);
}

struct asked {
	const char *name, *address;
	unsigned port;
	enum net_verdict verdict;
	uint32_t origin; /* NONE: no rule */
	bool allows_private;
	enum net_match_mode mode;
};
#define NONE UINT32_MAX

static void ask(const struct asked *asked, size_t count)
{
	_cleanup_(net_match_freep) struct net_match *match = NULL;

	assert_int_equal(net_match_new(list, &match), 0);
	for (size_t i = 0; i < count; i++) {
		const struct net_question question = {asked[i].name, address(asked[i].address),
		                                      (uint16_t)asked[i].port,
		                                      asked[i].allows_private, asked[i].mode};
		const struct net_record *record;
		enum net_verdict verdict = net_match_decide(match, &question, &record);

		if (verdict != asked[i].verdict ||
		    (record ? record->origin : NONE) != asked[i].origin)
			fail_msg("%zu: %s %s: %d by %u", i, asked[i].name ? asked[i].name : "-",
			         asked[i].address, verdict, record ? record->origin : NONE);
	}
}

static void add_network(enum net_list_kind kind, const char *name, const char *first, unsigned bits,
                        uint32_t origin)
{
	struct net_rule rule = make(name ? NET_RULE_NAME : NET_RULE_ADDRESS, name ? name : "", 1,
	                            NET_RULE_PORT_MAX);

	rule.is_bound = !!name;
	set_network(&rule, first, bits);
	add(kind, &rule, origin);
}

static void add_name(enum net_list_kind kind, uint8_t rule_kind, const char *name, unsigned first,
                     unsigned last, uint32_t origin)
{
	struct net_rule rule = make(rule_kind, name, first, last);

	add(kind, &rule, origin);
}

TEST(rebinding_a_name_reaches_nothing_that_no_rule_names)
{
	static const struct asked asked[] = {
		{"x", "1.2.3.4", 443, NET_VERDICT_ALLOWED, 1},
		{"x", "10.0.0.1", 443, NET_VERDICT_PRIVATE, 1},
		{"x", "10.0.0.1", 443, NET_VERDICT_ALLOWED, 1, true},
		{"x", "127.0.0.1", 443, NET_VERDICT_LOCAL, 1, true},
		{"x", "::1", 443, NET_VERDICT_LOCAL, 1, true},
		{"x", "0.0.0.0", 443, NET_VERDICT_LOCAL, 1, true},
		{"x", "169.254.169.254", 443, NET_VERDICT_NEVER, NONE, true},
		{"x", "64:ff9b::a9fe:a9fe", 443, NET_VERDICT_NEVER, NONE, true},
		{"x", "64:ff9b::7f00:1", 443, NET_VERDICT_LOCAL, 1, true},
		{"x", "2002:a00:1::", 443, NET_VERDICT_PRIVATE, 1},
		{"x", "1.2.3.4", 80, NET_VERDICT_NO_RULE, NONE, true},
		{"x", "1.2.3.4", 0, NET_VERDICT_NEVER, NONE, true},
		{"a.x", "1.2.3.4", 443, NET_VERDICT_NO_RULE, NONE, true},
		{NULL, "1.2.3.4", 443, NET_VERDICT_NO_RULE, NONE, true},
		{"z", "1.2.3.4", 25, NET_VERDICT_ALLOWED, NONE, false, NET_MATCH_OPEN},
		{NULL, "10.0.0.1", 25, NET_VERDICT_PRIVATE, NONE, false, NET_MATCH_OPEN},
	};

	net_list_begin(list);
	add_name(NET_LIST_ALLOW, NET_RULE_NAME, "x", 443, 443, 1);
	ask(asked, ARRAY_SIZE(asked));
}

TEST(a_rule_names_private_and_local_addresses_but_no_metadata)
{
	static const struct asked asked[] = {
		{NULL, "10.0.0.1", 1, NET_VERDICT_ALLOWED, 1},
		{NULL, "11.0.0.1", 1, NET_VERDICT_NO_RULE, NONE},
		{NULL, "127.0.0.1", 1, NET_VERDICT_ALLOWED, 2},
		{NULL, "127.0.0.2", 1, NET_VERDICT_NO_RULE, NONE},
		{NULL, "64:ff9b::a00:1", 1, NET_VERDICT_PRIVATE,
	         6}, /* translated, it is not what 10.0.0.0/8 names */
		{"x", "10.0.0.1", 1, NET_VERDICT_ALLOWED,
	         3}, /* the name by its rule, the address by another */
		{"x", "192.168.0.1", 1, NET_VERDICT_PRIVATE, 3},
		{"y", "10.0.0.1", 1, NET_VERDICT_NO_RULE,
	         NONE}, /* an address does not allow a name */
		{NULL, "100.100.100.200", 1, NET_VERDICT_NEVER, NONE},
		{NULL, "100.100.100.199", 1, NET_VERDICT_ALLOWED, 4},
		{NULL, "169.254.169.254", 1, NET_VERDICT_NEVER, NONE},
		{NULL, "2606::1", 1, NET_VERDICT_ALLOWED, 6},
		{NULL, "fd00::1", 1, NET_VERDICT_PRIVATE, 6}, /* ::/0 means the internet */
		{NULL, "::1", 1, NET_VERDICT_LOCAL, 6},
		{"b", "10.0.0.1", 1, NET_VERDICT_ALLOWED, 7},
		{"b", "192.168.0.1", 1, NET_VERDICT_NOT_BOUND, 7},
		{"b", "1.1.1.1", 1, NET_VERDICT_NOT_BOUND, 7, true},
		{"b", "1.1.1.1", 1, NET_VERDICT_ALLOWED, NONE, true, NET_MATCH_OPEN},
		{"b", "10.9.9.9", 1, NET_VERDICT_ALLOWED, 7, false, NET_MATCH_OPEN},
	};

	net_list_begin(list);
	add_network(NET_LIST_ALLOW, NULL, "10.0.0.0", 8, 1);
	add_network(NET_LIST_ALLOW, NULL, "127.0.0.1", 32, 2);
	add_name(NET_LIST_ALLOW, NET_RULE_NAME, "x", 1, 1, 3);
	add_network(NET_LIST_ALLOW, NULL, "100.64.0.0", 10, 4);
	add_network(NET_LIST_ALLOW, NULL, "169.254.0.0", 16, 5);
	add_network(NET_LIST_ALLOW, NULL, "::", 0, 6);
	add_network(NET_LIST_ALLOW, "b", "10.0.0.0", 8, 7);
	ask(asked, ARRAY_SIZE(asked));
}

TEST(deny_wins_wherever_it_stands)
{
	static const struct asked asked[] = {
		{"a.x", "1.2.3.4", 443, NET_VERDICT_ALLOWED, 1},
		{"b.x", "1.2.3.4", 443, NET_VERDICT_DENIED_BY_RULE, 2},
		{"b.x", "1.2.3.4", 443, NET_VERDICT_DENIED_BY_RULE, 2, true, NET_MATCH_OPEN},
		{"a.b.x", "1.2.3.4", 443, NET_VERDICT_ALLOWED, 1},
		{"a.x", "1.1.1.1", 443, NET_VERDICT_DENIED_BY_RULE,
	         3}, /* the address by whatever name */
		{NULL, "1.1.1.1", 443, NET_VERDICT_DENIED_BY_RULE, 3, true, NET_MATCH_OPEN},
		{"a.x", "64:ff9b::101:101", 443, NET_VERDICT_DENIED_BY_RULE,
	         3}, /* and in every form of it */
		{"a.x", "2002:101:101::", 443, NET_VERDICT_DENIED_BY_RULE, 3},
		{"a.x", "2606::5efe:101:101", 443, NET_VERDICT_DENIED_BY_RULE, 3},
		{"a.x", "1.2.3.4", 25, NET_VERDICT_DENIED_BY_RULE, 4},
		{NULL, "1.2.3.4", 25, NET_VERDICT_DENIED_BY_RULE, 4},
		{"c.x", "1.2.3.4", 443, NET_VERDICT_ALLOWED, 1},
		{"c.x", "9.9.9.9", 443, NET_VERDICT_DENIED_BY_RULE, 5},
		{"c.x", "64:ff9b::909:909", 443, NET_VERDICT_DENIED_BY_RULE, 5},
		{NULL, "169.254.1.1", 25, NET_VERDICT_DENIED_BY_RULE, 4},
	};

	net_list_begin(list);
	add_name(NET_LIST_ALLOW, NET_RULE_BELOW, "x", 1, 65535, 1);
	add_name(NET_LIST_DENY, NET_RULE_NAME, "b.x", 1, 65535, 2);
	add_network(NET_LIST_DENY, NULL, "1.1.1.0", 24, 3);
	add_name(NET_LIST_DENY, NET_RULE_ANY, "", 25, 25, 4);
	add_network(NET_LIST_DENY, "c.x", "9.0.0.0", 8, 5);
	add_name(NET_LIST_ALLOW, NET_RULE_NAME, "b.x", 1, 65535, 6);
	ask(asked, ARRAY_SIZE(asked));
}

TEST(a_name_is_looked_up_if_any_of_its_ports_may_be_asked_for)
{
	static const struct {
		const char *name;
		uint16_t port;
		enum net_verdict verdict;
		uint32_t origin;
	} asked[] = {
		{"x", 0, NET_VERDICT_ALLOWED, 1},     {"x", 443, NET_VERDICT_ALLOWED, 1},
		{"x", 80, NET_VERDICT_NO_RULE, NONE}, {"y", 0, NET_VERDICT_NO_RULE, NONE},
		{"b", 0, NET_VERDICT_ALLOWED, 2},     {"d", 0, NET_VERDICT_DENIED_BY_RULE, 4},
		{"e", 0, NET_VERDICT_ALLOWED, 5},     {"e", 443, NET_VERDICT_DENIED_BY_RULE, 6},
	};
	_cleanup_(net_match_freep) struct net_match *match = NULL;
	const struct net_record *record;

	net_list_begin(list);
	add_name(NET_LIST_ALLOW, NET_RULE_NAME, "x", 443, 443, 1);
	add_network(NET_LIST_ALLOW, "b", "10.0.0.0", 8, 2);
	add_name(NET_LIST_ALLOW, NET_RULE_NAME, "d", 443, 443, 3);
	add_name(NET_LIST_DENY, NET_RULE_NAME, "d", 1, 65535, 4);
	add_name(NET_LIST_ALLOW, NET_RULE_NAME, "e", 443, 443, 5);
	add_name(NET_LIST_DENY, NET_RULE_NAME, "e", 443, 443, 6);
	add_network(NET_LIST_DENY, "b", "10.0.0.0", 8, 7);
	add_network(NET_LIST_ALLOW, NULL, "1.0.0.0", 8, 8);
	assert_int_equal(net_match_new(list, &match), 0);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		assert_int_equal(net_match_name(match, asked[i].name, asked[i].port, NET_LIST_ALLOW,
		                                &record),
		                 asked[i].verdict);
		assert_int_equal(record ? record->origin : NONE, asked[i].origin);
	}
	assert_int_equal(net_match_address(match,
	                                   &(struct net_address){{[10] = 0xff, 0xff, 1, 2, 3, 4}},
	                                   1, &record),
	                 NET_VERDICT_ALLOWED);
	assert_int_equal(record->origin, 8);
	assert_int_equal(net_match_address(match,
	                                   &(struct net_address){{[10] = 0xff, 0xff, 2, 2, 3, 4}},
	                                   1, &record),
	                 NET_VERDICT_NO_RULE);
	assert_null(record);
}

TEST(of_several_rules_the_first_in_the_list_is_told)
{
	static const struct asked asked[] = {
		{"a.x", "1.2.3.4", 1, NET_VERDICT_ALLOWED, 1},
		{"b.a.x", "1.2.3.4", 1, NET_VERDICT_ALLOWED, 1},
		{"c.x", "1.2.3.4", 1, NET_VERDICT_DENIED_BY_RULE, 5},
	};

	net_list_begin(list);
	add_name(NET_LIST_ALLOW, NET_RULE_BELOW, "x", 1, 1, 1);
	add_name(NET_LIST_ALLOW, NET_RULE_BELOW_ONE, "x", 1, 1, 2);
	add_name(NET_LIST_ALLOW, NET_RULE_NAME, "a.x", 1, 1, 3);
	add_name(NET_LIST_ALLOW, NET_RULE_ANY, "", 1, 1, 4);
	add_name(NET_LIST_DENY, NET_RULE_NAME, "c.x", 1, 1, 5);
	add_name(NET_LIST_DENY, NET_RULE_NAME, "c.x", 1, 1, 6);
	ask(asked, ARRAY_SIZE(asked));
}

TEST(five_thousand_rules_are_small_and_come_back_as_they_were)
{
	static struct net_rule rules[5000];
	const struct net_record *record = NULL;
	size_t size = sizeof *list;

	net_list_begin(list);
	for (uint32_t i = 0; i < ARRAY_SIZE(rules); i++) {
		char name[32];

		(void)snprintf(name, sizeof name, "host-%u.example.org", i);
		rules[i] = i % 2 ? make(NET_RULE_NAME, name, 443, 443) : random_rule();
		add(i % 3 ? NET_LIST_ALLOW : NET_LIST_DENY, &rules[i], i * 7);
		size += net_list_measure(&rules[i]);
	}
	assert_int_equal(list->size, size);
	assert_true(size <= 5000 * 44);
	assert_int_equal(list->count[NET_LIST_DENY], 1667);
	assert_true(net_list_check(memory, size));
	for (uint32_t i = 0; i < ARRAY_SIZE(rules); i++) {
		struct net_rule rule;

		record = net_list_next(list, record);
		assert_non_null(record);
		net_list_rule(record, &rule);
		assert_memory_equal(&rule, &rules[i], sizeof rule);
		assert_int_equal(record->origin, i * 7);
		assert_int_equal(record->list, i % 3 ? NET_LIST_ALLOW : NET_LIST_DENY);
	}
	assert_null(net_list_next(list, record));
}

TEST(a_list_takes_what_it_has_room_for)
{
	struct net_rule rule = make(NET_RULE_ANY, "", 1, 1);
	size_t size = sizeof *list + net_list_measure(&rule);

	net_list_begin(list);
	assert_int_equal(net_list_add(list, size - 1, NET_LIST_ALLOW, &rule, 0), -ENOSPC);
	assert_int_equal(net_list_add(list, size, NET_LIST_ALLOW, &rule, 0), 0);
	assert_int_equal(net_list_add(list, size, NET_LIST_ALLOW, &rule, 0), -ENOSPC);
	assert_int_equal(list->count[NET_LIST_ALLOW], 1);
	while (list->count[NET_LIST_ALLOW] < NET_LIST_RULES_MAX)
		add(NET_LIST_ALLOW, &rule, 0);
	assert_int_equal(net_list_add(list, LIST_SIZE, NET_LIST_DENY, &rule, 0), -E2BIG);
	assert_true(net_list_check(memory, list->size));
}

static size_t begin_with_three(void)
{
	net_list_begin(list);
	add_name(NET_LIST_ALLOW, NET_RULE_NAME, "ab.x", 443, 443, 0);
	add_network(NET_LIST_DENY, "db.internal", "10.0.0.0", 8, 2);
	add_network(NET_LIST_ALLOW, NULL, "fd00::", 8, 3);
	assert_true(net_list_check(memory, list->size));
	return list->size;
}

TEST(bytes_that_are_no_list_are_refused)
{
	_Alignas(NET_LIST_ALIGN) char copy[512];
	size_t size = begin_with_three(),
	       padding = sizeof *list + sizeof(struct net_record) + sizeof "ab.x";

	for (size_t i = 0; i < size; i++) {
		assert_false(net_list_check(memory, i));
		memcpy(copy, memory, size);
		((struct net_list *)copy)->size = (uint32_t)i; /* as short, and saying so */
		assert_false(net_list_check(copy, i));
	}
	memcpy(copy, memory, size);
	copy[padding] = 1;
	assert_false(net_list_check(copy, size));
	assert_false(net_list_check(memory, size + NET_LIST_ALIGN));
	memcpy(copy + 1, memory, size);
	assert_false(net_list_check(copy + 1, size));
	list->count[NET_LIST_ALLOW]++;
	assert_false(net_list_check(memory, size));
	net_list_begin(list);
	assert_true(net_list_check(memory, list->size));
	list->count[NET_LIST_ASK] = 1;
	assert_false(net_list_check(memory, list->size));
}

TEST(with_any_byte_changed_a_list_has_other_rules_or_is_none)
{
	_Alignas(NET_LIST_ALIGN) char copy[512];
	size_t size = begin_with_three(), taken = 0;

	for (size_t i = 0; i < 256 * size; i++) {
		const struct net_record *record = NULL;
		struct net_rule rule;

		memcpy(copy, memory, size);
		copy[i / 256] = (char)(i % 256);
		if (memcmp(copy, memory, size) == 0 || !net_list_check(copy, size))
			continue;
		taken++;
		while ((record = net_list_next((struct net_list *)copy, record))) {
			net_list_rule(record, &rule);
			assert_true(net_rule_is_valid(&rule));
		}
	}
	assert_in_range(taken, 1, 128 * size);
}

TEST(an_empty_list_allows_nothing_and_denies_nothing)
{
	static const struct asked asked[] = {
		{"x", "1.2.3.4", 443, NET_VERDICT_NO_RULE, NONE, true},
		{NULL, "1.2.3.4", 443, NET_VERDICT_NO_RULE, NONE, true},
		{"x", "1.2.3.4", 443, NET_VERDICT_ALLOWED, NONE, false, NET_MATCH_OPEN},
	};

	net_list_begin(list);
	ask(asked, ARRAY_SIZE(asked));
	net_match_free(NULL);
}

static enum net_verdict unseen(const struct net_match *match, const char *name, uint16_t port,
                               enum net_match_mode mode)
{
	const struct net_record *record;

	return net_match_unseen(match, name, port, mode, NET_LIST_ALLOW, &record);
}

/* Where a proxy finds out where a name leads, no rule counts that would have to know. */
TEST(what_somebody_else_connects)
{
	struct net_rule anywhere = make(NET_RULE_NAME, "a.x", 443, 443),
			bound = make(NET_RULE_NAME, "b.x", 443, 443),
			denied = make(NET_RULE_BELOW, "y", 1, 65535),
			direct = make(NET_RULE_BELOW_ONE, "x", 80, 80),
			network = make(NET_RULE_ADDRESS, "", 1, 65535),
			proxy = make(NET_RULE_NAME, "x", 3128, 3128);
	const struct net_address in = address("10.1.2.3"), out = address("11.1.2.3");
	_cleanup_(net_match_freep) struct net_match *match = NULL;

	bound.is_bound = 1;
	set_network(&bound, "10.0.0.0", 8);
	set_network(&network, "10.0.0.0", 8);
	net_list_begin(list);
	add(NET_LIST_ALLOW, &anywhere, 1);
	add(NET_LIST_ALLOW, &bound, 2);
	add(NET_LIST_DENY, &denied, 3);
	add(NET_LIST_DIRECT, &direct, 4);
	add(NET_LIST_DIRECT, &network, 5);
	add(NET_LIST_PROXY, &proxy, 6);
	assert_true(net_list_check(list, list->size));
	assert_int_equal(net_match_new(list, &match), 0);
	assert_int_equal(unseen(match, "a.x", 443, NET_MATCH_LIMITED), NET_VERDICT_ALLOWED);
	assert_int_equal(unseen(match, "a.x", 80, NET_MATCH_LIMITED), NET_VERDICT_NO_RULE);
	assert_int_equal(unseen(match, "b.x", 443, NET_MATCH_LIMITED), NET_VERDICT_NOT_BOUND);
	assert_int_equal(unseen(match, "b.x", 443, NET_MATCH_OPEN), NET_VERDICT_ALLOWED);
	assert_int_equal(unseen(match, "x", 3128, NET_MATCH_LIMITED), NET_VERDICT_NO_RULE);
	assert_int_equal(unseen(match, "z", 1, NET_MATCH_OPEN), NET_VERDICT_ALLOWED);
	assert_int_equal(unseen(match, "a.y", 1, NET_MATCH_OPEN), NET_VERDICT_DENIED_BY_RULE);
	assert_true(net_match_is_direct(match, "c.x", &in, 80));
	assert_false(net_match_is_direct(match, "c.x", &in, 81));
	assert_false(net_match_is_direct(match, "x", &in, 80));
	assert_false(net_match_is_direct(match, "a.y", &in, 80));
	assert_true(net_match_is_direct(match, NULL, &in, 81));
	assert_false(net_match_is_direct(match, NULL, &out, 81));
}

TEST_MAIN(NULL, NULL)
