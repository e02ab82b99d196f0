/* SPDX-License-Identifier: Apache-2.0 */
/* See connector_rules.h. No privilege. */
#include "programs/net/connector_rules.h"
#include "programs/net/route.h"

#include <string.h>

static struct connector_verdict connector_rules_verdict_of(enum net_verdict verdict,
                                                           const struct net_record *record)
{
	return (struct connector_verdict){verdict, record ? record->origin : 0, 0};
}

static bool is_to_be_asked(const struct ruleset *rules, enum net_verdict verdict)
{
	return rules->memory->asks && verdict != NET_VERDICT_ALLOWED &&
	       verdict != NET_VERDICT_DENIED_BY_RULE;
}

static enum net_match_mode connector_rules_mode_of(const struct ruleset *rules)
{
	return rules->memory->mode == EGRESS_OPEN ? NET_MATCH_OPEN : NET_MATCH_LIMITED;
}

struct connector_verdict connector_rules_name(const struct ruleset *rules, const char *name,
                                              uint16_t port)
{
	const struct net_record *record = NULL, *asked = NULL;
	enum net_verdict verdict =
		net_match_name(rules->match, name, port, NET_LIST_ALLOW, &record);

	if (verdict == NET_VERDICT_NO_RULE && rules->memory->mode == EGRESS_OPEN)
		verdict = NET_VERDICT_ALLOWED;
	if (is_to_be_asked(rules, verdict) &&
	    net_match_name(rules->match, name, port, NET_LIST_ASK, &asked) == NET_VERDICT_ALLOWED)
		return connector_rules_verdict_of(NET_VERDICT_ASKED, asked);
	return connector_rules_verdict_of(verdict, record);
}

/* Finds the rule that names exactly this address of the host; NULL: none. */
static const struct net_record *find_own(const struct ruleset *rules,
                                         const struct net_question *question)
{
	const struct net_list *list = ruleset_list(rules);

	for (const struct net_record *record = NULL; (record = net_list_next(list, record));) {
		const struct net_address *network = net_list_network(record);

		if (record->list == question->by && network &&
		    record->prefix == NET_ADDRESS_PREFIX_MAX &&
		    net_address_compare(network, &question->address) == 0 &&
		    record->port_first <= question->port && question->port <= record->port_last &&
		    (record->kind == NET_RULE_ADDRESS ||
		     (question->name && strcmp(net_list_name(record), question->name) == 0)))
			return record;
	}
	return NULL;
}

/* Checks a target that the rules allow: whether it is this host after all, or has no route. */
static struct connector_verdict connector_rules_follow(const struct ruleset *rules, int netlink,
                                                       const struct net_question *question,
                                                       struct connector_verdict verdict)
{
	struct net_address embedded[NET_ADDRESS_EMBEDDED_MAX];
	size_t count = net_address_embedded(&question->address, embedded);
	enum route route = ROUTE_OUT;

	/*
	 * A gateway or a tunnel, perhaps on this host, may translate the target to an address that
	 * is embedded in the target's. So an embedded address must not be this host's, nor a group
	 * of hosts. If there is no route to an embedded address, the connection cannot reach it.
	 */
	for (size_t i = 0; i < count; i++)
		if (route_ask(netlink, &embedded[i], &route) == 0 && route != ROUTE_OUT)
			return connector_rules_verdict_of(
				route == ROUTE_LOCAL ? NET_VERDICT_LOCAL : NET_VERDICT_NEVER, NULL);
	/* Loopback: the rules have allowed it, so one of them names it. */
	if (net_address_kind(&question->address) == NET_ADDRESS_LOCAL)
		return verdict;
	verdict.error = -route_ask(netlink, &question->address, &route);
	if (verdict.error != 0 || route == ROUTE_OUT)
		return verdict;
	if (route == ROUTE_LOCAL) {
		const struct net_record *own = find_own(rules, question);

		return connector_rules_verdict_of(own ? NET_VERDICT_ALLOWED : NET_VERDICT_LOCAL,
		                                  own);
	}
	return connector_rules_verdict_of(NET_VERDICT_NEVER, NULL);
}

static struct connector_verdict decide_by(const struct ruleset *rules, int netlink,
                                          struct net_question question, enum net_list_kind by)
{
	const struct net_record *record = NULL;
	struct connector_verdict verdict;

	question.by = by;
	verdict = connector_rules_verdict_of(net_match_decide(rules->match, &question, &record),
	                                     NULL);
	verdict.origin = record ? record->origin : 0;
	return verdict.verdict == NET_VERDICT_ALLOWED
	               ? connector_rules_follow(rules, netlink, &question, verdict)
	               : verdict;
}

struct connector_verdict connector_rules_decide(const struct ruleset *rules, int netlink,
                                                const char *name, const struct net_address *address,
                                                uint16_t port)
{
	const struct net_question question = {
		.name = *name ? name : NULL,
		.address = *address,
		.port = port,
		.allows_private = rules->memory->allow_private,
		.mode = connector_rules_mode_of(rules),
	};
	struct connector_verdict verdict = decide_by(rules, netlink, question, NET_LIST_ALLOW),
				 asked;

	if (!is_to_be_asked(rules, verdict.verdict))
		return verdict;
	asked = decide_by(rules, netlink, question, NET_LIST_ASK);
	return asked.verdict == NET_VERDICT_ALLOWED
	               ? (struct connector_verdict){NET_VERDICT_ASKED, asked.origin, 0}
	               : verdict;
}

bool connector_rules_has_proxy(const struct ruleset *rules, const char *name,
                               const struct net_address *address, uint16_t port)
{
	return rules->proxy &&
	       !net_match_is_direct(rules->match, *name ? name : NULL, address, port);
}

struct connector_verdict connector_rules_by_proxy(const struct ruleset *rules, int netlink,
                                                  const char *name,
                                                  const struct net_address *address, uint16_t port)
{
	const struct net_record *record = NULL, *asked = NULL;
	struct connector_verdict verdict;

	if (*name) {
		verdict = connector_rules_verdict_of(
			net_match_unseen(rules->match, name, port, connector_rules_mode_of(rules),
		                         NET_LIST_ALLOW, &record),
			record);
		if (is_to_be_asked(rules, verdict.verdict) &&
		    net_match_unseen(rules->match, name, port, connector_rules_mode_of(rules),
		                     NET_LIST_ASK, &asked) == NET_VERDICT_ALLOWED)
			return connector_rules_verdict_of(NET_VERDICT_ASKED, asked);
		return verdict;
	}
	verdict = connector_rules_decide(rules, netlink, name, address, port);
	verdict.error = 0;
	return verdict;
}
