/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what the processes of a sandbox's network are started with, as yett-decider and the
 * supervisor make it.
 *
 * make_rules MODE [--private] [--connections N] [--in BYTES] [--out BYTES] [--deny] RULE…   struct
 * egress_rules; MODE: limited or open. What follows --deny is denied. A rule's number is its place
 * among the rules, from 1 on make_rules plan UID GID [GROUP…]   the beginning of struct plan
 */
#include "base/net_list.h"
#include "base/net_rule_parse.h"
#include "helper/plan/plan.h"
#include "programs/net/egress.h"

#include <stdio.h>
#include <string.h>

static _Alignas(8) uint8_t memory[EGRESS_RULES_SIZE_MAX];

static int fail(const char *text, const char *why)
{
	(void)fprintf(stderr, "make_rules: %s: %s\n", text, why);
	return 2;
}

static int write_out(const void *bytes, size_t size)
{
	return fwrite(bytes, 1, size, stdout) == size && fflush(stdout) == 0
	               ? 0
	               : fail("stdout", "cannot be written");
}

static int make_plan(char **arguments)
{
	static struct plan plan;

	plan.shape = PLAN_SHAPE;
	if (arguments[0] && strcmp(arguments[0], "--other-shape") == 0) {
		plan.shape++;
		arguments++;
	}
	if (!arguments[0] || !arguments[1] || !arguments[2])
		return fail("plan", "[--other-shape] ASKER UID GID [GROUP…]");
	plan.asker.uid = (uid_t)strtoul(*arguments++, NULL, 10);
	plan.caller_uid = (uid_t)strtoul(arguments[0], NULL, 10);
	plan.caller_gid = (gid_t)strtoul(arguments[1], NULL, 10);
	for (arguments += 2; *arguments && plan.groups_count < PLAN_GROUPS_MAX; arguments++)
		plan.groups[plan.groups_count++] = (gid_t)strtoul(*arguments, NULL, 10);
	return write_out(&plan, offsetof(struct plan, arena));
}

/* How many arguments it was; 0: it is no option. */
static int read_option(char **arguments, struct egress_rules *rules)
{
	if (strcmp(arguments[0], "--private") == 0) {
		rules->allow_private = 1;
		return 1;
	}
	if (!arguments[1])
		return 0;
	if (strcmp(arguments[0], "--connections") == 0)
		rules->connections_max = (uint32_t)strtoul(arguments[1], NULL, 10);
	else if (strcmp(arguments[0], "--in") == 0)
		rules->in_bytes_s = strtoull(arguments[1], NULL, 10);
	else if (strcmp(arguments[0], "--out") == 0)
		rules->out_bytes_s = strtoull(arguments[1], NULL, 10);
	else
		return 0;
	return 2;
}

static int make_rules(char **arguments, struct egress_rules *rules)
{
	struct net_list *list = (struct net_list *)rules->list;
	enum net_list_kind kind = NET_LIST_ALLOW;
	uint32_t number = 0;
	int taken;

	while (*arguments && (taken = read_option(arguments, rules)) > 0)
		arguments += taken;
	net_list_begin(list);
	for (; *arguments; arguments++) {
		struct yett_error error = {0};
		struct net_rule rule;

		if (strcmp(*arguments, "--deny") == 0) {
			kind = NET_LIST_DENY;
			continue;
		}
		if (strcmp(*arguments, "--ask") == 0) {
			kind = NET_LIST_ASK;
			rules->asks = 1;
			continue;
		}
		if (net_rule_parse(*arguments, &rule, &error) != 0)
			return fail(*arguments, error.message);
		if (net_list_add(list, sizeof memory - sizeof *rules, kind, &rule, ++number) < 0)
			return fail(*arguments, "too many");
	}
	rules->list_size = list->size;
	return write_out(rules, sizeof *rules + list->size);
}

int main(int argc, char **argv)
{
	struct egress_rules *rules = (struct egress_rules *)memory;

	if (argc < 2)
		return fail(
			"arguments",
			"MODE [--private] [--connections N] [--in BYTES] [--out BYTES] [--deny | --ask] RULE…, or plan UID GID [GROUP…]");
	if (strcmp(argv[1], "plan") == 0)
		return make_plan(argv + 2);
	if (strcmp(argv[1], "limited") != 0 && strcmp(argv[1], "open") != 0)
		return fail(argv[1], "is no mode");
	rules->mode = strcmp(argv[1], "open") == 0 ? EGRESS_OPEN : EGRESS_LIMITED;
	rules->connections_max = EGRESS_CONNECTIONS_MAX;
	return make_rules(argv + 2, rules);
}
