/* SPDX-License-Identifier: Apache-2.0 */
/* What the network of a sandbox goes by: the rules of the policy as they are, what the grant
 * denies, and those of the request. */
#include "base/net_rule_parse.h"
#include "programs/decide/decider/rules.h"
#include "tests/support/testing.h"
#include "tests/unit/decide.h"

#define POLICY                                                                                                                        \
	"profile \"default\" { network = limited allow = {\"a.org:443\", \"*.b.org\"}\n  allow += {\"c.org\"} deny = {\"x.b.org\"}\n" \
	"  bandwidth_in = 10M connections = 7 allow_private = true }\n"                                                               \
	"profile \"child\" { extends = \"default\" allow += {\"d.org\"}\n deny = {} }\n"                                              \
	"grant \"g\" { users = {\"*\"} profiles = {\"*\"} network = open allow = {\"*\"}\n  deny = {\"*:25\", \"x\xc3\xbc.org\"} }\n"

static void ask(struct decide *d, const char *text, bool is_deny)
{
	struct net_rule rule;

	assert_int_equal(net_rule_parse(text, &rule, NULL), 0);
	decide_rule(d, &rule, is_deny);
}

/* All of them, as "+rule" and "-rule", with the line of the policy or '?' behind each. */
static void print(const struct decide *d, const struct egress_rules *rules, char *out, size_t size)
{
	const struct net_record *record = NULL;
	size_t used = 0;

	out[0] = '\0';
	while ((record = net_list_next((const struct net_list *)rules->list, record))) {
		char text[NET_RULE_TEXT_SIZE], found[NET_RULE_TEXT_SIZE];
		struct policy_place place = {NULL, 0};
		struct net_rule rule;

		net_list_rule(record, &rule);
		(void)net_rule_print(&rule, text);
		used += (size_t)snprintf(out + used, size - used, "%s%c%s@", used ? " " : "",
		                         record->list == NET_LIST_DENY ? '-' : '+', text);
		if (!rules_find(d->policy, record->origin, &place, found)) {
			used += (size_t)snprintf(out + used, size - used, "?");
			assert_in_range(record->origin, RULES_OF_REQUEST,
			                RULES_OF_REQUEST + MESSAGE_RULES_MAX);
			continue;
		}
		assert_string_equal(found, text);
		assert_ptr_equal(place.file, d->policy->files[0]);
		used += (size_t)snprintf(out + used, size - used, "%u", place.line);
	}
}

WITH_DECIDE(what_can_be_asked_about_is_what_the_grant_lets_a_rule_allow)
{
	_cleanup_free_ struct egress_rules *rules = NULL;
	const struct net_list *list;
	size_t size;

	decide_policy(
		d,
		"profile \"default\" { network = limited allow = {\"a.org\"} }\n"
		"grant \"g\" { users = {\"*\"} profiles = {\"*\"} network = limited allow = {\"*.b.org\", \"c.org:443\"} }\n");
	d->request.body.create.ask = true;
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(rules_make(d->policy, &d->decision, &rules, &size, &d->error), 0);
	assert_int_equal(rules->asks, 1);
	assert_int_equal(rules->generation, d->policy->generation);
	assert_true(net_list_check(rules->list, rules->list_size));
	list = (const struct net_list *)rules->list;
	assert_int_equal(list->count[NET_LIST_ALLOW], 1);
	assert_int_equal(list->count[NET_LIST_ASK], 2);
}

WITH_DECIDE(all_that_counts_is_in_them_and_knows_its_line)
{
	_cleanup_free_ struct egress_rules *rules = NULL, *others = NULL;
	char text[1024];
	size_t size;

	decide_policy(d, POLICY);
	ask(d, "e.org:22", false);
	ask(d, "a.org", true);
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(rules_make(d->policy, &d->decision, &rules, &size, &d->error), 0);
	assert_int_equal(rules->mode, EGRESS_LIMITED);
	assert_true(rules->allow_private);
	assert_int_equal(rules->connections_max, 7);
	assert_int_equal(rules->in_bytes_s, 10 << 20);
	assert_int_equal(rules->out_bytes_s, 0);
	assert_int_equal(size, sizeof *rules + rules->list_size);
	assert_true(net_list_check(rules->list, rules->list_size));
	print(d, rules, text, sizeof text);
	assert_string_equal(
		text,
		"+a.org:443@1 +*.b.org@1 +c.org@2 -x.b.org@2 -*:25@7 -xn--x-eha.org@7 +e.org:22@? -a.org@?");

	decide_reset(d);
	d->request.body.create.profile = decide_text(d, "child");
	d->request.body.create.network = NETWORK_OPEN;
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(rules_make(d->policy, &d->decision, &others, &size, &d->error), 0);
	assert_int_equal(others->mode, EGRESS_OPEN);
	print(d, others, text, sizeof text);
	assert_string_equal(text,
	                    "+a.org:443@1 +*.b.org@1 +c.org@2 +d.org@4 -*:25@7 -xn--x-eha.org@7");
}

WITH_DECIDE(no_rule_has_an_origin_that_the_policy_has_not)
{
	struct policy_place place;
	char text[NET_RULE_TEXT_SIZE];

	decide_policy(d, POLICY);
	assert_int_equal(d->policy->rule_lines_count, 1 + 4 + 4 + 3);
	for (uint32_t i = 1; i < d->policy->rule_lines_count; i++)
		assert_true(rules_find(d->policy, i, &place, text));
	assert_false(rules_find(d->policy, (uint32_t)d->policy->rule_lines_count, &place, text));
	assert_false(rules_find(d->policy, 0, &place, text));
	assert_false(rules_find(d->policy, RULES_OF_REQUEST, &place, text));
}

WITH_DECIDE(a_sandbox_without_rules_has_an_empty_list)
{
	_cleanup_free_ struct egress_rules *rules = NULL;
	size_t size;

	decide_policy(
		d,
		"profile \"default\" { network = open }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} network = open }\n");
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(rules_make(d->policy, &d->decision, &rules, &size, &d->error), 0);
	assert_int_equal(rules->connections_max, EGRESS_CONNECTIONS_MAX);
	assert_false(rules->allow_private);
	assert_int_equal(rules->list_size, sizeof(struct net_list));
	assert_true(net_list_check(rules->list, rules->list_size));
}

/* Five thousand in each list, and a request with as many as there may be: within what root takes.
 */
WITH_DECIDE(as_many_as_there_may_be_fit)
{
	_cleanup_free_ struct egress_rules *rules = NULL;
	_cleanup_free_ char *policy = NULL;
	static const char *const before[] = {
		"profile \"default\" { network = limited allow = {", "}\n deny = {",
		"} }\ngrant \"g\" { users = {\"*\"} profiles = {\"*\"} network = open allow = {\"*\"} deny = {"};
	size_t length, size;
	FILE *file = open_memstream(&policy, &length);

	assert_non_null(file);
	for (unsigned list = 0; list < ARRAY_SIZE(before); list++) {
		assert_true(fputs(before[list], file) >= 0);
		for (unsigned i = 0; i < POLICY_RULES_MAX; i++)
			(void)fprintf(file,
			              "%s\"a-name-of-some-length-%u.in-list-%u.example.org:443\"",
			              i ? ",\n" : "", i, list);
	}
	(void)fputs("} }\n", file);
	assert_int_equal(fclose(file), 0);
	decide_policy(d, policy);
	for (unsigned i = 0; i < MESSAGE_RULES_MAX; i++)
		ask(d, "some.other.example.org:1-2", i % 2);
	assert_int_equal(decide_authorize(d), 0);
	assert_int_equal(rules_make(d->policy, &d->decision, &rules, &size, &d->error), 0);
	assert_true(size <= EGRESS_RULES_SIZE_MAX);
	assert_true(net_list_check(rules->list, rules->list_size));
	assert_int_equal(((const struct net_list *)rules->list)->count[NET_LIST_ALLOW],
	                 POLICY_RULES_MAX + MESSAGE_RULES_MAX / 2);
	assert_int_equal(((const struct net_list *)rules->list)->count[NET_LIST_DENY],
	                 2 * POLICY_RULES_MAX + MESSAGE_RULES_MAX / 2);
}

WITH_DECIDE(the_text_of_a_list_is_cut_between_rules)
{
	char text[64];

	decide_policy(d, POLICY);
	assert_string_equal(
		rules_print(rules_of_policy(&d->policy->profiles[0].allow), text, sizeof text),
		"a.org:443, *.b.org, c.org");
	assert_string_equal(rules_print(rules_of_policy(&d->policy->profiles[0].allow), text, 20),
	                    "a.org:443, ...");
	assert_string_equal(
		rules_print(rules_of_policy(&d->policy->profiles[1].deny), text, sizeof text),
		"nothing");
}

TEST_MAIN(NULL, NULL)
