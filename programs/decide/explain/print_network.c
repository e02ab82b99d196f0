/* SPDX-License-Identifier: Apache-2.0 */
/* See print.h. Prints the network of a sandbox and its rules. */
#include "base/units.h"
#include "programs/decide/decider/plan_name.h"
#include "programs/decide/decider/rules.h"
#include "programs/decide/explain/print.h"

/* Prints the mode, what set it, and the maximum. */
static void print_mode(const struct decision *decision, struct json *json, FILE *text)
{
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *grant = decision->grant;
	struct rule most = print_rule_of("network", "grant", grant->name,
	                                 grant->places[POLICY_KEY_NETWORK], grant->place),
		    by = {.text = ""};

	by.is_asked = decision->verified->request->body.create.network != NETWORK_OF_PROFILE ||
	              decision->network != profile->network;
	if (!by.is_asked && profile->network_place.file)
		by = print_rule_of("network", "profile", profile->name, profile->network_place,
		                   profile->place);
	json_open(json, "network", '{');
	json_text(json, "value", plan_name_network(decision->network));
	json_bool(json, "asked", by.is_asked);
	print_json_rule(json, "set_by", &by);
	json_text(json, "ceiling", plan_name_network(grant->network));
	print_json_rule(json, "ceiling_by", &most);
	json_close(json);
	(void)fprintf(text, "  %-15s %-10s ", "network", plan_name_network(decision->network));
	if (by.text[0])
		(void)fprintf(text, "%s (%s:%u)", by.text, by.file, by.line);
	else
		(void)fputs(by.is_asked ? "as asked" : "no profile sets it", text);
	(void)fprintf(text, "; at most %s by %s (%s:%u)\n", plan_name_network(grant->network),
	              most.text, most.file, most.line);
}

/* Finds the line of the grant that lets the request allow this rule. */
static struct rule find_allowing(const struct explain *explain, const struct decision *decision,
                                 const struct net_rule *inner)
{
	const struct policy_grant *grant = decision->grant;
	const struct net_list *list = rules_of_policy(&grant->allow);
	struct net_rule outer;

	for (const struct net_record *record = NULL;
	     list && (record = net_list_next(list, record));) {
		net_list_rule(record, &outer);
		if (net_rule_covers(&outer, inner))
			return print_rule_of("allow", "grant", grant->name,
			                     rules_place(explain->policy, record), grant->place);
	}
	return (struct rule){.text = ""};
}

/* Prints the rules of the request. */
static void print_network_print_rules(const struct explain *explain,
                                      const struct decision *decision, struct json *json,
                                      FILE *text)
{
	const struct message *request = decision->verified->request;
	const struct message_create *create = &request->body.create;
	char name[NET_RULE_TEXT_SIZE];
	struct net_rule rule;

	json_open(json, "rules", '[');
	for (uint32_t i = 0; i < create->rules_count; i++) {
		struct rule by = {.text = ""};

		if (!rules_take(request, &create->rules[i], &rule))
			continue; /* authorize() refused it already */
		if (!create->rules[i].deny)
			by = find_allowing(explain, decision, &rule);
		json_open(json, NULL, '{');
		json_text(json, "rule", net_rule_print(&rule, name));
		json_bool(json, "deny", create->rules[i].deny);
		print_json_rule(json, "allowed_by", &by);
		json_close(json);
		(void)fprintf(text, "  %-15s %s: ", create->rules[i].deny ? "deny" : "allow", name);
		if (by.text[0])
			(void)fprintf(text, "%s (%s:%u)\n", by.text, by.file, by.line);
		else
			(void)fputs("as asked\n", text);
	}
	json_close(json);
}

/* Rules of one list in the text form. */
#define SHOWN_MAX 20

void print_network_list(const struct explain *explain, const struct policy_rules *rules,
                        const char *section, struct json *json, FILE *text)
{
	const struct net_list *list = rules_of_policy(rules);
	const char *word = "allow";
	unsigned count = 0;

	for (const struct net_record *record = NULL; list && (record = net_list_next(list, record));
	     count++) {
		struct policy_place place = rules_place(explain->policy, record);
		char name[NET_RULE_TEXT_SIZE];
		struct net_rule rule;

		net_list_rule(record, &rule);
		word = record->list == NET_LIST_DENY ? "deny" : "allow";
		json_open(json, NULL, '{');
		json_text(json, "rule", net_rule_print(&rule, name));
		json_bool(json, "deny", record->list == NET_LIST_DENY);
		json_text(json, "section", section);
		json_text(json, "file", place.file);
		json_number(json, "line", place.line);
		json_close(json);
		if (count < SHOWN_MAX)
			(void)fprintf(text, "  %-15s %s: %s (%s:%u)\n", word, name, section,
			              place.file ? place.file : "", place.line);
	}
	if (count > SHOWN_MAX)
		(void)fprintf(text, "  %-15s and %u more: %s\n", word, count - SHOWN_MAX, section);
}

/* Prints the profile's other network settings. */
static void print_network_print_bounds(const struct decision *decision, struct json *json,
                                       FILE *text)
{
	const struct policy_profile *profile = decision->profile;
	char in[UNITS_TEXT_SIZE], out[UNITS_TEXT_SIZE];
	uint64_t in_bytes = profile->bandwidth_in_bytes, out_bytes = profile->bandwidth_out_bytes;

	json_number(json, "connections", profile->connections);
	json_number_or_null(json, "bandwidth_in_bytes", in_bytes);
	json_number_or_null(json, "bandwidth_out_bytes", out_bytes);
	json_bool(json, "allow_private", decision->allows_private);
	(void)fprintf(text, "  %-15s %u at once, in %s%s, out %s%s%s\n", "connections",
	              profile->connections,
	              in_bytes ? units_format_size(in_bytes, in) : "unlimited",
	              in_bytes ? " a second" : "",
	              out_bytes ? units_format_size(out_bytes, out) : "unlimited",
	              out_bytes ? " a second" : "",
	              decision->allows_private ? ", private addresses too" : "");
}

void print_network(const struct explain *explain, const struct decision *decision,
                   struct json *json, FILE *text)
{
	const struct policy_profile *profile = decision->profile;
	const struct policy_grant *grant = decision->grant;
	char of_profile[160], of_grant[160];

	(void)snprintf(of_profile, sizeof of_profile, "profile '%s'", profile->name);
	(void)snprintf(of_grant, sizeof of_grant, "grant '%s'", grant->name);
	print_mode(decision, json, text);
	print_network_print_rules(explain, decision, json, text);
	json_open(json, "network_of_policy", '{');
	json_open(json, "rules", '[');
	if (plan_network_has_rules(decision->network)) {
		print_network_list(explain, &profile->allow, of_profile, json, text);
		print_network_list(explain, &profile->deny, of_profile, json, text);
		print_network_list(explain, &grant->deny, of_grant, json, text);
	}
	json_close(json);
	if (plan_network_has_rules(decision->network))
		print_network_print_bounds(decision, json, text);
	json_close(json);
}
