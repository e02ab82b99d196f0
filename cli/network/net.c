/* SPDX-License-Identifier: Apache-2.0 */
/* See net.h. */
#include "cli/network/net.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "cli/output.h"
#include "cli/parse.h"

static const char *list_name(const struct yett_rule *rule)
{
	static const char *const names[] = {
		[YETT_RULES_ALLOW] = "allow", [YETT_RULES_DENY] = "deny", [YETT_RULES_ASK] = "ask"};

	return (size_t)rule->list < ARRAY_SIZE(names) ? names[rule->list] : "unknown";
}

static void json_rule(struct json *json, const struct yett_rule *rule)
{
	json_open(json, NULL, '{');
	json_text(json, "list", list_name(rule));
	json_text(json, "rule", rule->text);
	json_bool(json, "asked", rule->is_asked);
	json_text_or_null(json, "file", rule->file);
	json_number_or_null(json, "line", rule->line);
	json_close(json);
}

static void net_print_rule(const struct yett_rule *rule, int width)
{
	(void)printf("%-5s  %-*s  ", list_name(rule), width, ESCAPE(rule->text));
	if (rule->is_asked)
		(void)puts("asked for");
	else if (*rule->file)
		(void)printf("%s:%u\n", ESCAPE(rule->file), rule->line);
	else
		(void)puts("an earlier policy");
}

static int net_show(struct yett_connection *connection, const struct net_arguments *arguments,
                    struct yett_error *error)
{
	struct yett_rules *reported = NULL;
	struct json *json = output_json();
	int r = yett_network_rules(connection, arguments->operands[0], &reported, error), width = 0;
	size_t all = r == 0 ? yett_rules_count(reported) : 0;

	if (r == 0 && json)
		json_open(json, "rules", '[');
	for (size_t i = 0; !json && i < all; i++)
		if ((int)strlen(yett_rules_get(reported, i)->text) > width)
			width = (int)strlen(yett_rules_get(reported, i)->text);
	for (size_t i = 0; i < all; i++) {
		if (json)
			json_rule(json, yett_rules_get(reported, i));
		else
			net_print_rule(yett_rules_get(reported, i), width);
	}
	if (r == 0 && json)
		json_close(json);
	yett_free(reported);
	return r;
}

static int net_change(struct yett_connection *connection, const struct net_arguments *arguments,
                      bool is_deny, struct yett_error *error)
{
	size_t count = arguments->count - 1;
	_cleanup_free_ char **rules = calloc(count, sizeof *rules);
	int r = rules ? 0
	              : error_set(error, YETT_E_OUT_OF_MEMORY, YETT_R_NONE, "no memory for rules");

	for (size_t i = 0; r == 0 && i < count; i++)
		r = parse_rule(is_deny ? "deny" : "allow", arguments->operands[1 + i], &rules[i],
		               error);
	if (r == 0)
		r = yett_network_change(
			connection, arguments->operands[0],
			is_deny ? NULL : (const char *const *)rules, is_deny ? 0 : count,
			is_deny ? (const char *const *)rules : NULL, is_deny ? count : 0, error);
	for (size_t i = 0; rules && i < count; i++)
		free(rules[i]);
	return r;
}

static int allow(struct yett_connection *connection, const struct net_arguments *arguments,
                 struct yett_error *error)
{
	return net_change(connection, arguments, false, error);
}

static int net_deny(struct yett_connection *connection, const struct net_arguments *arguments,
                    struct yett_error *error)
{
	return net_change(connection, arguments, true, error);
}

static const struct net_action {
	const char *name, *operands;
	size_t count_min, count_max;
	int (*run)(struct yett_connection *connection, const struct net_arguments *arguments,
	           struct yett_error *error);
} actions[] = {
	{"allow", "SANDBOX RULE…", 2, SIZE_MAX, allow},
	{"deny", "SANDBOX RULE…", 2, SIZE_MAX, net_deny},
	{"show", "SANDBOX", 1, 1, net_show},
	{"log", "[SANDBOX…]", 0, SIZE_MAX, net_log},
	{"publish", "SANDBOX [ADDR:]HOSTPORT:PORT…", 2, SIZE_MAX, net_publish},
	{"socket", "SANDBOX PATH[:TARGET]…", 2, SIZE_MAX, net_socket},
};

static const struct net_action *net_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

/* Reports which actions exist, or which operands `action` takes. */
static int net_refuse(const char *name, const struct net_action *action, struct yett_error *error)
{
	char names[96] = "";

	if (action)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "yett net %s takes other operands: yett net %s %s", name, name,
		                 action->operands);
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		(void)strcat(names, i ? ", " : "");
		(void)strcat(names, actions[i].name);
	}
	return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
	                 "yett net has no '%.80s': it has %s", name, names);
}

int net_main(const struct subcommand *self, int argc, char **argv)
{
	struct manage_run_options options = {0};
	struct yett_connection *connection;
	struct yett_error error = {0};
	const struct net_action *action;
	struct net_arguments arguments;
	int first, r = manage_begin(self, argc, argv, &options, &first, &connection);

	if (r >= 0)
		return r;
	action = net_find(argv[first]);
	arguments =
		(struct net_arguments){argv + first + 1, (size_t)(argc - first - 1), options.all};
	if (action && arguments.count >= action->count_min && arguments.count <= action->count_max)
		r = action->run(connection, &arguments, &error);
	else
		r = net_refuse(argv[first], action, &error);
	return manage_finish(connection, r, &error);
}
