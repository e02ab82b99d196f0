/* SPDX-License-Identifier: Apache-2.0 */
/* See net_rule.h. No privilege, no allocation. */
#include "base/net_rule.h"
#include "base/units_format.h"

#include <string.h>

/* The text before the name, by kind. NULL: rules of this kind have no name. */
static const char *const before_name[] = {[NET_RULE_ANY] = NULL,
                                          [NET_RULE_NAME] = "",
                                          [NET_RULE_BELOW_ONE] = "*.",
                                          [NET_RULE_BELOW] = "**.",
                                          [NET_RULE_ADDRESS] = NULL};

bool net_rule_has_network(const struct net_rule *rule)
{
	return rule->kind == NET_RULE_ADDRESS || rule->is_bound;
}

static bool is_zero(const void *bytes, size_t size)
{
	const char *at = bytes;
	uint64_t word;

	/* Compare words for speed: lists have thousands of names, and each one is checked. */
	for (; size >= sizeof word; at += sizeof word, size -= sizeof word) {
		memcpy(&word, at, sizeof word);
		if (word)
			return false;
	}
	while (size > 0 && !at[size - 1])
		size--;
	return size == 0;
}

static bool name_is_valid(const struct net_rule *rule)
{
	const char *end = memchr(rule->name, '\0', sizeof rule->name);

	if (!before_name[rule->kind])
		return is_zero(rule->name, sizeof rule->name);
	return end && net_name_is_canonical(rule->name) &&
	       is_zero(end, (size_t)(rule->name + sizeof rule->name - end));
}

static bool network_is_valid(const struct net_rule *rule)
{
	struct net_address first;

	if (!net_rule_has_network(rule))
		return rule->prefix == 0 && is_zero(&rule->address, sizeof rule->address);
	if (rule->prefix > NET_ADDRESS_PREFIX_MAX)
		return false;
	first = net_address_masked(&rule->address, rule->prefix);
	return net_address_compare(&first, &rule->address) == 0;
}

bool net_rule_is_valid(const struct net_rule *rule)
{
	if (rule->kind > NET_RULE_ADDRESS || rule->is_bound > (rule->kind == NET_RULE_NAME) ||
	    rule->reserved)
		return false;
	return rule->port_first >= 1 && rule->port_first <= rule->port_last &&
	       name_is_valid(rule) && network_is_valid(rule);
}

static size_t print_network(const struct net_rule *rule, char *out, size_t size)
{
	char address[NET_ADDRESS_TEXT_SIZE];
	unsigned before = net_address_is_v4(&rule->address) ? NET_ADDRESS_PREFIX_V4 : 0;
	size_t used = units_append(out, size, "%s", net_address_print(&rule->address, address));

	if (rule->prefix < NET_ADDRESS_PREFIX_MAX)
		used += units_append(out + used, size - used, "/%u", rule->prefix - before);
	return used;
}

static bool has_all_ports(const struct net_rule *rule)
{
	return rule->port_first == 1 && rule->port_last == NET_RULE_PORT_MAX;
}

static size_t print_ports(const struct net_rule *rule, char *out, size_t size)
{
	if (has_all_ports(rule))
		return 0;
	if (rule->port_first == rule->port_last)
		return units_append(out, size, ":%u", rule->port_first);
	return units_append(out, size, ":%u-%u", rule->port_first, rule->port_last);
}

char *net_rule_print(const struct net_rule *rule, char out[NET_RULE_TEXT_SIZE])
{
	bool has_brackets = rule->kind == NET_RULE_ADDRESS && !net_address_is_v4(&rule->address);
	size_t size = NET_RULE_TEXT_SIZE,
	       used = units_append(out, size, "%s", has_brackets ? "[" : "");

	if (rule->kind == NET_RULE_ADDRESS)
		used += print_network(rule, out + used, size - used);
	else if (before_name[rule->kind])
		used += units_append(out + used, size - used, "%s%s", before_name[rule->kind],
		                     rule->name);
	else
		used += units_append(out + used, size - used, "*");
	used += units_append(out + used, size - used, "%s", has_brackets ? "]" : "");
	used += print_ports(rule, out + used, size - used);
	if (rule->is_bound) {
		used += units_append(out + used, size - used, "@");
		(void)print_network(rule, out + used, size - used);
	}
	return out;
}

bool net_rule_network_names(const struct net_address *network, unsigned prefix,
                            enum net_address_kind kind)
{
	return (kind == NET_ADDRESS_PRIVATE || kind == NET_ADDRESS_LOCAL) &&
	       net_address_network_kind(network, prefix) == kind;
}

bool net_rule_allows_nothing(const struct net_rule *rule)
{
	return net_rule_has_network(rule) &&
	       net_address_network_kind(&rule->address, rule->prefix) >= NET_ADDRESS_LINK;
}

/* Whether the network of `outer` contains that of `inner`, and names what that of `inner` names. */
static bool network_covers(const struct net_rule *outer, const struct net_rule *inner)
{
	enum net_address_kind kind = net_address_network_kind(&inner->address, inner->prefix);

	return net_address_covers(&outer->address, outer->prefix, &inner->address, inner->prefix) &&
	       (!net_rule_network_names(&inner->address, inner->prefix, kind) ||
	        net_rule_network_names(&outer->address, outer->prefix, kind));
}

static bool names_something(const struct net_rule *rule)
{
	return net_rule_has_network(rule) &&
	       net_rule_network_names(&rule->address, rule->prefix,
	                              net_address_network_kind(&rule->address, rule->prefix));
}

static bool name_covers(const struct net_rule *outer, const struct net_rule *inner)
{
	bool is_same = strcmp(outer->name, inner->name) == 0;

	if (inner->kind == NET_RULE_ANY)
		return false;
	if (outer->kind == NET_RULE_BELOW)
		return net_name_is_below(inner->name, outer->name) ||
		       (is_same && inner->kind != NET_RULE_NAME);
	if (outer->kind == NET_RULE_BELOW_ONE && inner->kind == NET_RULE_NAME) {
		const char *parent = net_name_parent(inner->name);

		return parent && strcmp(parent, outer->name) == 0;
	}
	return is_same && outer->kind == inner->kind;
}

bool net_rule_covers(const struct net_rule *outer, const struct net_rule *inner)
{
	if (outer->port_first > inner->port_first || outer->port_last < inner->port_last)
		return false;
	if (outer->kind == NET_RULE_ADDRESS || (outer->is_bound && inner->is_bound))
		return outer->kind == inner->kind && network_covers(outer, inner) &&
		       strcmp(outer->name, inner->name) == 0;
	if (outer->is_bound || names_something(inner))
		return false;
	return outer->kind == NET_RULE_ANY ||
	       (inner->kind != NET_RULE_ADDRESS && name_covers(outer, inner));
}
