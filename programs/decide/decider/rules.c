/* SPDX-License-Identifier: Apache-2.0 */
/* See rules.h. No privilege. */
#include "programs/decide/decider/rules.h"
#include "base/units_format.h"

#include <string.h>

_Static_assert((int)EGRESS_LIMITED == (int)PLAN_NETWORK_LIMITED &&
                       (int)EGRESS_OPEN == (int)PLAN_NETWORK_OPEN &&
                       EGRESS_CONNECTIONS_MAX == POLICY_CONNECTIONS_MAX,
               "a plan's network is what yett-dialer calls so");

/*
 * The most rules that one sandbox can have: two lists of the profile, two of the grant (denied
 * rules, and rules that can be asked about), and the rules of the request.
 */
#define RULE_SIZE_MAX \
	(sizeof(struct net_record) + sizeof(struct net_address) + NET_NAME_SIZE + NET_LIST_ALIGN)
_Static_assert(sizeof(struct egress_rules) + 4 * POLICY_RULES_SIZE_MAX +
                                       MESSAGE_RULES_MAX * RULE_SIZE_MAX <=
                               EGRESS_RULES_SIZE_MAX &&
                       4 * POLICY_RULES_MAX + MESSAGE_RULES_MAX <= NET_LIST_RULES_MAX,
               "all rules fit");

bool rules_take(const struct message *request, const struct message_rule *from,
                struct net_rule *ret_rule)
{
	const char *name = message_text(request, from->name);

	*ret_rule = (struct net_rule){.kind = (uint8_t)from->kind,
	                              .is_bound = from->bound,
	                              .prefix = (uint8_t)from->prefix,
	                              .port_first = (uint16_t)from->port_first,
	                              .port_last = (uint16_t)from->port_last};
	memcpy(&ret_rule->address, from->address, sizeof ret_rule->address);
	if (!name || from->name.length >= sizeof ret_rule->name)
		return false;
	memcpy(ret_rule->name, name, from->name.length);
	return net_rule_is_valid(ret_rule);
}

const struct net_list *rules_of_policy(const struct policy_rules *rules)
{
	return rules->size > 0 && net_list_check(rules->list, rules->size) ? rules->list : NULL;
}

char *rules_print(const struct net_list *list, char *out, size_t size)
{
	const struct net_record *record = NULL;
	char text[NET_RULE_TEXT_SIZE];
	struct net_rule rule;
	size_t used = 0;

	out[0] = '\0';
	while (list && (record = net_list_next(list, record))) {
		net_list_rule(record, &rule);
		(void)net_rule_print(&rule, text);
		if (used + strlen(text) + sizeof ", ..." > size) {
			(void)units_append(out + used, size - used, "%s...", used ? ", " : "");
			break;
		}
		used += units_append(out + used, size - used, "%s%s", used ? ", " : "", text);
	}
	if (!out[0])
		(void)units_append(out, size, "nothing");
	return out;
}

static struct policy_place place_of(const struct policy *policy, uint32_t origin)
{
	uint32_t place =
		origin < policy->rule_lines_count ? policy->rule_lines[origin] : UINT32_MAX;
	uint32_t file = place >> POLICY_RULE_LINE_BITS;

	if (file >= policy->files_count)
		return (struct policy_place){NULL, 0};
	return (struct policy_place){policy->files[file],
	                             place & ((UINT32_C(1) << POLICY_RULE_LINE_BITS) - 1)};
}

struct policy_place rules_place(const struct policy *policy, const struct net_record *record)
{
	return place_of(policy, record->origin);
}

/*
 * Finds the first rule with this origin. Validates only that record: to validate thousands of rules
 * for each event would take too long.
 */
static bool find_rule(const struct policy_rules *rules, uint32_t origin, struct net_rule *ret_rule)
{
	struct {
		struct net_list list;
		char record[RULE_SIZE_MAX];
	} alone = {0};
	size_t left = rules->size > sizeof alone.list ? rules->size - sizeof alone.list : 0;

	for (const char *at = (const char *)(rules->list + 1); left >= sizeof(struct net_record);) {
		const struct net_record *record = (const struct net_record *)at;

		if (record->size < sizeof *record || record->size > left ||
		    record->size % NET_LIST_ALIGN != 0)
			break;
		at += record->size;
		left -= record->size;
		if (record->origin != origin)
			continue;
		if (record->size > sizeof alone.record || record->list >= NET_LISTS)
			break;
		memcpy(alone.record, record, record->size);
		alone.list.size = (uint32_t)sizeof alone.list + record->size;
		alone.list.count[record->list] = 1;
		if (!net_list_check(&alone, alone.list.size))
			break;
		net_list_rule((const struct net_record *)alone.record, ret_rule);
		return true;
	}
	return false;
}

static bool rules_find_in(const struct policy *policy, const struct policy_rules *rules,
                          uint32_t origin, struct policy_place *ret_place,
                          char text[NET_RULE_TEXT_SIZE])
{
	struct net_rule rule;

	if (!find_rule(rules, origin, &rule))
		return false;
	(void)net_rule_print(&rule, text);
	*ret_place = place_of(policy, origin);
	return true;
}

bool rules_find(const struct policy *policy, uint32_t origin, struct policy_place *ret_place,
                char text[NET_RULE_TEXT_SIZE])
{
	bool is_found = false;

	for (size_t i = 0; !is_found && i < policy->profiles_count; i++)
		is_found =
			rules_find_in(policy, &policy->profiles[i].allow, origin, ret_place,
		                      text) ||
			rules_find_in(policy, &policy->profiles[i].deny, origin, ret_place, text);
	for (size_t i = 0; !is_found && i < policy->grants_count; i++)
		is_found =
			rules_find_in(policy, &policy->grants[i].allow, origin, ret_place, text) ||
			rules_find_in(policy, &policy->grants[i].deny, origin, ret_place, text);
	return is_found;
}

/*
 * Appends the bytes of a list of the policy. yett-front and yett-dialer, which use the rules,
 * validate them.
 */
static int add_policy(struct net_list *list, size_t room, const struct policy_rules *rules)
{
	if (rules->size == 0)
		return 0;
	if (rules->size < sizeof *rules->list || rules->list->size != rules->size)
		return -EINVAL;
	return net_list_append(list, room, rules->list);
}

static int add_request(struct net_list *list, size_t room, const struct decision *decision)
{
	struct net_rule rule;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < decision->rules_count; i++)
		r = rules_take(decision->verified->request, &decision->rules[i], &rule)
		            ? net_list_add(list, room,
		                           decision->rules[i].deny ? NET_LIST_DENY : NET_LIST_ALLOW,
		                           &rule, RULES_OF_REQUEST | i)
		            : -EINVAL;
	return r;
}

/* Adds the rules of the grant that requests may allow, as rules that can be asked about. */
static int rules_add_asked(struct net_list *list, size_t room, const struct net_list *allowed)
{
	const struct net_record *record = NULL;
	struct net_rule rule;
	int r = 0;

	while (r == 0 && allowed && (record = net_list_next(allowed, record))) {
		net_list_rule(record, &rule);
		r = net_list_add(list, room, NET_LIST_ASK, &rule, record->origin);
	}
	return r;
}

int rules_make(const struct policy *policy, const struct decision *decision,
               struct egress_rules **ret_rules, size_t *ret_size, struct yett_error *error)
{
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *grant = decision->grant;
	size_t room = sizeof(struct net_list) + profile->allow.size + profile->deny.size +
	              grant->deny.size + (decision->asks ? grant->allow.size : 0) +
	              decision->rules_count * RULE_SIZE_MAX;
	_cleanup_free_ struct egress_rules *rules = calloc(1, sizeof *rules + room);
	struct net_list *list;
	int r;

	if (!rules)
		return -ENOMEM;
	list = (struct net_list *)rules->list;
	net_list_begin(list);
	r = add_policy(list, room, &profile->allow);
	if (r == 0)
		r = add_policy(list, room, &profile->deny);
	if (r == 0)
		r = add_policy(list, room, &grant->deny);
	if (r == 0)
		r = add_request(list, room, decision);
	if (r == 0 && decision->asks)
		r = rules_add_asked(list, room, rules_of_policy(&grant->allow));
	if (r < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, 0,
		                 "the rules for the network are not rules, or too many together");
	rules->mode = decision->network;
	rules->allow_private = decision->allows_private;
	rules->asked_private = decision->asks_private;
	rules->asks = decision->asks;
	rules->generation = policy->generation;
	rules->connections_max = profile->connections;
	rules->list_size = list->size;
	rules->in_bytes_s = profile->bandwidth_in_bytes;
	rules->out_bytes_s = profile->bandwidth_out_bytes;
	*ret_size = sizeof *rules + list->size;
	*ret_rules = steal_ptr(&rules);
	return 0;
}

#define BOUNDS_SIZE 160 /* room for the lines about limits, which come last */

struct description {
	char *out;
	size_t size, used;
	unsigned left_out;
};

static void describe_rule(struct description *to, bool is_deny, const struct net_rule *rule,
                          struct policy_place place)
{
	char text[NET_RULE_TEXT_SIZE], where[256] = "the request";
	const char *word = is_deny ? "deny" : "allow";

	/* There may be thousands of rules: after the first that does not fit, only count. */
	if (to->left_out) {
		to->left_out++;
		return;
	}
	(void)net_rule_print(rule, text);
	if (place.file)
		(void)units_append(where, sizeof where, "%s:%u", place.file, place.line);
	if (to->used + strlen(word) + strlen(text) + strlen(where) + BOUNDS_SIZE > to->size)
		to->left_out++;
	else
		to->used += units_append(to->out + to->used, to->size - to->used, "%s %s (%s)\n",
		                         word, text, where);
}

static void describe_list(struct description *to, const struct policy *policy,
                          const struct policy_rules *rules)
{
	uint32_t left = rules->size < sizeof *rules->list ? 0 : net_list_count(rules->list);
	const struct net_record *record;
	struct net_rule rule;

	for (size_t at = sizeof *rules->list; left > 0 && !to->left_out;
	     left--, at += record->size) {
		record = net_list_record(rules->list, rules->size, at);
		if (!record)
			return;
		net_list_rule(record, &rule);
		describe_rule(to, record->list == NET_LIST_DENY, &rule,
		              rules_place(policy, record));
	}
	to->left_out += left;
}

static void describe_bandwidth(struct description *to, const char *word, uint64_t bytes)
{
	char text[UNITS_TEXT_SIZE];

	if (bytes)
		to->used += units_append(to->out + to->used, to->size - to->used,
		                         "%s %s a second\n", word, units_format_size(bytes, text));
}

char *rules_describe(const struct policy *policy, const struct decision *decision, char *out,
                     size_t size)
{
	const struct policy_profile *profile = decision->profile;
	const struct message *request = decision->verified->request;
	const struct message_create *create = &request->body.create;
	struct description to = {.out = out, .size = size};
	struct net_rule rule;

	out[0] = '\0';
	if (!plan_network_has_rules(decision->network))
		return out;
	for (uint32_t i = 0; i < create->rules_count && i < MESSAGE_RULES_MAX; i++)
		if (rules_take(request, &create->rules[i], &rule))
			describe_rule(&to, create->rules[i].deny, &rule,
			              (struct policy_place){NULL, 0});
	describe_list(&to, policy, &profile->allow);
	describe_list(&to, policy, &profile->deny);
	describe_list(&to, policy, &decision->grant->deny);
	if (to.left_out)
		to.used += units_append(out + to.used, size - to.used, "and %u rules more\n",
		                        to.left_out);
	describe_bandwidth(&to, "in", profile->bandwidth_in_bytes);
	describe_bandwidth(&to, "out", profile->bandwidth_out_bytes);
	(void)units_append(out + to.used, size - to.used, "at most %u connections",
	                   profile->connections);
	return out;
}
