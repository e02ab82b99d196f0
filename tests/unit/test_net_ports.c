/* SPDX-License-Identifier: Apache-2.0 */
/* At which ports there has to be a listener, of rules that say what may be reached. */
#include <stdio.h>

#include "base/net_ports.h"
#include "base/net_rule_parse.h"
#include "tests/support/testing.h"

/* A list of 64 KiB at most; a text that begins with '-' denies. The origin of each is its index. */
static const struct net_list *list_of(const char *const *texts, size_t count)
{
	static _Alignas(NET_LIST_ALIGN) uint8_t memory[1 << 16];
	struct net_list *list = (struct net_list *)memory;

	net_list_begin(list);
	for (size_t i = 0; i < count; i++) {
		bool is_deny = texts[i][0] == '-';
		struct net_rule rule;

		assert_int_equal(net_rule_parse(texts[i] + is_deny, &rule, NULL), 0);
		assert_int_equal(net_list_add(list, sizeof memory,
		                              is_deny ? NET_LIST_DENY : NET_LIST_ALLOW, &rule,
		                              (uint32_t)i),
		                 0);
	}
	return list;
}

TEST(each_port_is_there_once)
{
	static const char *const texts[] = {"a.example:443",        "*.b.example:8000-8002",
	                                    "-c.example",           "a.example:22",
	                                    "10.0.0.0/8:8001-8003", "d.example:443"};
	static const uint16_t wanted[] = {443, 8000, 8001, 8002, 22, 8003};
	struct net_ports ports;

	assert_null(net_ports_collect(list_of(texts, ARRAY_SIZE(texts)), &ports));
	assert_int_equal(ports.count, ARRAY_SIZE(wanted));
	assert_memory_equal(ports.ports, wanted, sizeof wanted);
	assert_null(net_ports_collect(list_of(texts, 0), &ports));
	assert_int_equal(ports.count, 0);
}

TEST(the_rule_with_which_they_are_too_many_is_named)
{
	static const struct {
		const char *texts[3];
		uint32_t origin; /* UINT32_MAX: they are not */
	} rows[] = {
		{{"a.example:1-256", "b.example:256", "-c.example"}, UINT32_MAX},
		{{"a.example:65280-65535", "b.example:65535", "c.example:1"}, 2},
		{{"a.example:1-256", "b.example:256-257", "c.example"}, 1},
		{{"a.example:443", "-b.example", "c.example"}, 2},
		{{"*:1-257", "b.example:1", "c.example:1"}, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct net_ports ports;
		const struct net_record *record =
			net_ports_collect(list_of(rows[i].texts, 3), &ports);

		assert_int_equal(record ? record->origin : UINT32_MAX, rows[i].origin);
		if (!record)
			assert_int_equal(ports.count, NET_PORTS_MAX);
	}
}

TEST_MAIN(NULL, NULL)
