/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See sandbox.h: converts the network options of a caller into the rules of a request. Runs as the
 * caller, without input or output.
 */
#include "base/net_rule_parse.h"
#include "libclient/sandbox.h"

#include <string.h>

_Static_assert((int)YETT_NETWORK_PROFILE == (int)NETWORK_OF_PROFILE &&
                       (int)YETT_NETWORK_HOST == (int)NETWORK_HOST &&
                       (int)NET_RULE_ADDRESS == MESSAGE_RULE_KIND_MAX &&
                       NET_NAME_SIZE == MESSAGE_RULE_NAME_MAX + 1,
               "a rule is the same on the wire");

int reach_parse(const char *option, size_t i, const char *text, struct net_rule *ret_rule,
                struct yett_error *error)
{
	struct yett_error why = {0};
	int r = text ? net_rule_parse(text, ret_rule, &why)
	             : error_set(&why, YETT_E_INVALID_REQUEST, YETT_R_NONE, "it is NULL");

	if (r == 0)
		return 0;
	(void)error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE, "%s[%zu]: %s", option, i,
	                why.message);
	error_mend(error, "%s", why.mend);
	return YETT_E_INVALID_REQUEST;
}

int reach_put_rule(struct channel *channel, struct message_rule *into, bool deny,
                   const struct net_rule *rule, struct yett_error *error)
{
	*into = (struct message_rule){.deny = deny,
	                              .kind = rule->kind,
	                              .bound = rule->is_bound,
	                              .prefix = rule->prefix,
	                              .port_first = rule->port_first,
	                              .port_last = rule->port_last};
	memcpy(into->address, &rule->address, sizeof into->address);
	return channel_put_text(channel, rule->name, MESSAGE_RULE_NAME_MAX, "the name in a rule",
	                        &into->name, error);
}

static int reach_put_list(struct channel *channel, bool deny, const char *const *texts,
                          size_t count, struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	struct net_rule rule;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = reach_parse(deny ? "deny" : "allow", i, texts[i], &rule, error);
		if (r == 0)
			r = reach_put_rule(channel, &create->rules[create->rules_count++], deny,
			                   &rule, error);
	}
	return r;
}

int reach_check(const char *const *allow, size_t allow_count, const char *const *deny,
                size_t deny_count, struct yett_error *error)
{
	if (allow_count > MESSAGE_RULES_MAX || deny_count > MESSAGE_RULES_MAX - allow_count)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			"%zu rules in allow and %zu in deny are more than the %d allowed in both together",
			allow_count, deny_count, MESSAGE_RULES_MAX);
	if ((allow_count && !allow) || (deny_count && !deny))
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "%s is NULL, and has a count",
		                 allow_count && !allow ? "allow" : "deny");
	return 0;
}

int reach_put(struct channel *channel, const struct yett_sandbox_options *options,
              struct yett_error *error)
{
	struct message_create *create = &channel->message.body.create;
	int r;

	if ((unsigned)options->network > YETT_NETWORK_HOST)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_RANGE,
		                 "the network of a sandbox is none that is known: %d",
		                 (int)options->network);
	r = reach_check(options->allow, options->allow_count, options->deny, options->deny_count,
	                error);
	create->network = (uint32_t)options->network;
	create->ask = options->flags & YETT_SANDBOX_ASK;
	create->allow_private = options->flags & YETT_SANDBOX_PRIVATE;
	if (r == 0)
		r = reach_put_list(channel, false, options->allow, options->allow_count, error);
	return r == 0 ? reach_put_list(channel, true, options->deny, options->deny_count, error)
	              : r;
}
