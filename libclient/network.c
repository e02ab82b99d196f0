/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See "network" in yett.h: lists and changes the network rules of an existing sandbox. Runs as the
 * caller.
 */
#include "base/net_list.h"
#include "base/net_rule_parse.h"
#include "libclient/sandbox.h"

#include <string.h>

#define CHANGES_MAX 8 /* attempts; a concurrent change of the rules takes only a moment */

_Static_assert((int)YETT_RULES_DENY == (int)NET_LIST_DENY &&
                       (int)YETT_RULES_ASK == (int)NET_LIST_ASK,
               "the public lists are those of the wire");

/* Opaque in yett.h. */
struct yett_rules {
	struct list list;
};

static void *libclient_network_take_rule(const struct yett_connection *connection,
                                         const struct message *message)
{
	const struct message_reach *from = &message->body.reach;
	_cleanup_(memory_freep) struct yett_rule *to = memory_new(sizeof *to);

	(void)connection;
	if (!to || !(to->text = memory_add_text(to, message_text(message, from->rule))) ||
	    !(to->file = memory_add_text(to, message_text(message, from->file))))
		return NULL;
	to->size = sizeof *to;
	to->list = (enum yett_rule_list)from->list;
	to->is_asked = from->asked;
	to->line = from->line;
	return steal_ptr(&to);
}

static const struct manage_items rules_items = {MESSAGE_REACH, libclient_network_take_rule};

static int libclient_network_list_rules(struct yett_connection *connection, const char *id_or_name,
                                        struct list **ret_list, struct message_listing *ret_listing,
                                        struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_RULES};

	return manage_listing_of(connection, &asked, id_or_name ? id_or_name : "", &rules_items,
	                         ret_list, ret_listing, error);
}

int yett_network_rules(struct yett_connection *connection, const char *id_or_name,
                       struct yett_rules **ret_rules, struct yett_error *error)
{
	struct message_listing unused;

	return libclient_network_list_rules(connection, id_or_name, (struct list **)ret_rules,
	                                    &unused, error);
}

size_t yett_rules_count(const struct yett_rules *rules)
{
	return rules->list.count;
}

const struct yett_rule *yett_rules_get(const struct yett_rules *rules, size_t i)
{
	return i < rules->list.count ? rules->list.items[i] : NULL;
}

/* The contents of the next request. */
struct wanted {
	size_t count;
	bool ask, allow_private, by_port;
	struct {
		bool deny;
		struct net_rule rule;
	} rows[MESSAGE_RULES_MAX];
};

/*
 * Adds a rule. A later entry replaces an earlier entry for the same rule, in either list. One
 * exception: with `by_port`, the allowed rules determine at which ports connections are caught. A
 * rule that is denied later therefore stays allowed as well; the denial wins.
 */
static int want(struct wanted *wanted, bool deny, const struct net_rule *rule,
                struct yett_error *error)
{
	size_t kept = 0;

	for (size_t i = 0; i < wanted->count; i++) {
		bool is_same = memcmp(&wanted->rows[i].rule, rule, sizeof *rule) == 0;

		if (!is_same || (deny && wanted->by_port && !wanted->rows[i].deny))
			wanted->rows[kept++] = wanted->rows[i];
	}
	wanted->count = kept;
	if (kept == MESSAGE_RULES_MAX)
		return error_set(
			error, YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG,
			"the sandbox would have more than the %d rules that requests can ask for",
			MESSAGE_RULES_MAX);
	wanted->rows[kept].deny = deny;
	wanted->rows[kept].rule = *rule;
	wanted->count++;
	return 0;
}

/* Starts with the rules that earlier requests asked for. Rules of the policy are not repeated. */
static int want_again(struct wanted *wanted, const struct list *rules, struct yett_error *error)
{
	int r = 0;

	wanted->count = 0;
	for (size_t i = 0; r == 0 && i < rules->count; i++) {
		const struct yett_rule *reported = rules->items[i];
		struct net_rule rule;

		wanted->ask = wanted->ask || reported->list == YETT_RULES_ASK;
		if (!reported->is_asked)
			continue;
		r = net_rule_parse(reported->text, &rule, error);
		if (r)
			return error_set(error, YETT_E_PROTOCOL, YETT_R_NONE,
			                 "the helper's list holds what is no rule");
		r = want(wanted, reported->list == YETT_RULES_DENY, &rule, error);
	}
	return r;
}

static int want_more(struct wanted *wanted, const char *option, const char *const *texts,
                     size_t count, struct yett_error *error)
{
	struct net_rule rule;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = reach_parse(option, i, texts[i], &rule, error);
		if (r == 0)
			r = want(wanted, strcmp(option, "deny") == 0, &rule, error);
	}
	return r;
}

static bool libclient_network_has_port(const struct list *rules, uint32_t port)
{
	for (size_t i = 0; i < rules->count; i++) {
		const struct yett_rule *reported = rules->items[i];
		struct net_rule rule;

		if (reported->list == YETT_RULES_ALLOW &&
		    net_rule_parse(reported->text, &rule, NULL) == 0 && rule.port_first <= port &&
		    port <= rule.port_last)
			return true;
	}
	return false;
}

/*
 * For listing.by_port: connections are caught only at the ports of the rules that the sandbox was
 * made with. A rule for another port would have no effect, so refuse it.
 */
static int check_ports(const struct list *rules, const char *const *allow, size_t count,
                       struct yett_error *error)
{
	struct net_rule rule;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		r = reach_parse("allow", i, allow[i], &rule, error);
		for (uint32_t port = rule.port_first; r == 0 && port <= rule.port_last; port++)
			if (!libclient_network_has_port(rules, port)) {
				r = error_set(
					error, YETT_E_UNSUPPORTED, YETT_R_NONE,
					"allow[%zu]: without root, connections to port %u are not caught, since no rule of the sandbox was about it",
					i, port);
				error_mend(error, "make a sandbox with a rule about that port");
			}
	}
	return r;
}

static int libclient_network_ask(struct yett_connection *connection, const char *id_or_name,
                                 const struct wanted *wanted, uint32_t changes,
                                 struct yett_error *error)
{
	const struct message_manage asked = {.action = MANAGE_NETWORK,
	                                     .changes = changes,
	                                     .ask = wanted->ask,
	                                     .allow_private = wanted->allow_private};
	_cleanup_(sandbox_freep) struct yett_sandbox *sandbox = sandbox_new(CONNECTION_DONE);
	CONNECTION_LOCKED(connection);
	struct channel *channel = connection->channel;
	struct message_manage *manage = &channel->message.body.manage;
	int r = sandbox ? manage_put(connection, &asked, id_or_name, error)
	                : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                            "no memory for a request");

	for (size_t i = 0; r == 0 && i < wanted->count; i++)
		r = reach_put_rule(channel, &manage->rules[manage->rules_count++],
		                   wanted->rows[i].deny, &wanted->rows[i].rule, error);
	if (r == 0)
		r = sandbox_request(connection, NULL, 0, sandbox, error);
	if (r == 0)
		sandbox_forget(sandbox);
	return r;
}

/*
 * Removes from `wanted` the item that the helper refused, because the policy no longer lets
 * requests ask for it. `refused` is the error's `asked`. Only for a caller that adds denials alone:
 * an earlier request that is no longer allowed must not stop the caller from denying something.
 * Returns whether an item was removed.
 */
static bool libclient_network_give_up(struct wanted *wanted, const char *refused)
{
	size_t kept = 0, before = wanted->count;
	struct net_rule rule;
	bool is_rule = net_rule_parse(refused, &rule, NULL) == 0;

	if (strcmp(refused, "ask") == 0 && wanted->ask) {
		wanted->ask = false;
		return true;
	}
	if (strcmp(refused, "true") == 0 && wanted->allow_private) {
		wanted->allow_private = false;
		return true;
	}
	for (size_t i = 0; i < wanted->count; i++)
		if (!is_rule || wanted->rows[i].deny ||
		    memcmp(&wanted->rows[i].rule, &rule, sizeof rule) != 0)
			wanted->rows[kept++] = wanted->rows[i];
	wanted->count = kept;
	return kept < before;
}

static bool was_somebody_quicker(int r, const struct yett_error *error)
{
	return r == YETT_E_RESOURCE_LIMIT && error->reason == YETT_R_LATER;
}

int yett_network_change(struct yett_connection *connection, const char *id_or_name,
                        const char *const *allow, size_t allow_count, const char *const *deny,
                        size_t deny_count, struct yett_error *error)
{
	_cleanup_free_ struct wanted *wanted = calloc(1, sizeof *wanted);
	struct yett_error own = {0}, *reported = error ? error : &own;
	const char *name = id_or_name ? id_or_name : "";
	int r = wanted ? reach_check(allow, allow_count, deny, deny_count, reported)
	               : error_set(reported, YETT_E_OUT_OF_MEMORY, YETT_R_NONE,
	                           "no memory for a request");

	if (r)
		return r;
	for (int i = 0; i < CHANGES_MAX && (i == 0 || was_somebody_quicker(r, reported)); i++) {
		_cleanup_(memory_freep) struct list *rules = NULL;
		struct message_listing listing;

		r = libclient_network_list_rules(connection, name, &rules, &listing, reported);
		if (r == 0 && listing.by_port)
			r = check_ports(rules, allow, allow_count, reported);
		if (r == 0)
			wanted->allow_private = listing.allow_private,
			wanted->by_port = listing.by_port;
		if (r == 0)
			r = want_again(wanted, rules, reported);
		if (r == 0)
			r = want_more(wanted, "allow", allow, allow_count, reported);
		if (r == 0)
			r = want_more(wanted, "deny", deny, deny_count, reported);
		if (r == 0)
			r = libclient_network_ask(connection, name, wanted, listing.changes,
			                          reported);
		while (r == YETT_E_PERMISSION_DENIED && allow_count == 0 &&
		       libclient_network_give_up(wanted, reported->asked))
			r = libclient_network_ask(connection, name, wanted, listing.changes,
			                          reported);
	}
	return r;
}
