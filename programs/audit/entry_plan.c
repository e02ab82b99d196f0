/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See entry.h. Records a plan and its network rules. Both are private copies, but their content is
 * not trusted.
 */
#include "base/net_list.h"
#include "programs/audit/entry.h"
#include "programs/decide/decoder/plan_fields.h"
#include "programs/decide/decider/plan_name.h"

#include <sodium.h>
#include <string.h>

#define POLICY_MAX (128 << 20) /* bytes of an image */

static bool entry_plan_read_whole(int fd, void *to, size_t size)
{
	for (size_t at = 0; at < size;) {
		ssize_t n = pread(fd, (char *)to + at, size - at, (off_t)at);

		if (n <= 0)
			return false;
		at += (size_t)n;
	}
	return true;
}

/*
 * Gets the size of a regular file, which includes memfd_create(2) memory. Refuses all others, since
 * reading them could block.
 */
static bool entry_plan_measure(int fd, size_t least, size_t most, size_t *ret_size)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < (off_t)least ||
	    st.st_size > (off_t)most)
		return false;
	*ret_size = (size_t)st.st_size;
	return true;
}

bool entry_read_plan(int fd, struct plan *ret_plan)
{
	size_t size;

	return entry_plan_measure(fd, offsetof(struct plan, arena), sizeof *ret_plan, &size) &&
	       entry_plan_read_whole(fd, ret_plan, size) &&
	       ret_plan->arena_used == size - offsetof(struct plan, arena);
}

bool entry_read_rules(int fd, struct egress_rules *ret_rules, size_t most)
{
	size_t size;

	return entry_plan_measure(fd, sizeof *ret_rules, most, &size) &&
	       entry_plan_read_whole(fd, ret_rules, size) &&
	       ret_rules->list_size == size - sizeof *ret_rules &&
	       net_list_check(ret_rules->list, ret_rules->list_size);
}

bool entry_hash_file(int fd, uint8_t ret_hash[32])
{
	static uint8_t piece[64 << 10];
	crypto_generichash_state state;
	size_t size;

	if (!entry_plan_measure(fd, 0, POLICY_MAX, &size))
		return false;
	(void)crypto_generichash_init(&state, NULL, 0, 32);
	for (size_t at = 0; at < size;) {
		ssize_t n = pread(fd, piece, sizeof piece, (off_t)at);

		if (n <= 0)
			return false;
		(void)crypto_generichash_update(&state, piece, (size_t)n);
		at += (size_t)n;
	}
	(void)crypto_generichash_final(&state, ret_hash, 32);
	return true;
}

static void put_rules_of(struct json *json, const char *name, const struct net_list *list,
                         enum net_list_kind kind, uint32_t *left)
{
	const struct net_record *record = NULL;

	json_open(json, name, '[');
	while ((record = net_list_next(list, record)) && *left > 0) {
		char text[NET_RULE_TEXT_SIZE];
		struct net_rule rule;

		if (record->list != kind)
			continue;
		net_list_rule(record, &rule);
		json_text(json, NULL, net_rule_print(&rule, text));
		(*left)--;
	}
	json_close(json);
}

void entry_put_rules(struct json *json, const struct egress_rules *rules)
{
	static const char *const names[NET_LISTS] = {[NET_LIST_ALLOW] = "allow",
	                                             [NET_LIST_DENY] = "deny",
	                                             [NET_LIST_ASK] = "ask",
	                                             [NET_LIST_PROXY] = "proxy",
	                                             [NET_LIST_DIRECT] = "no_proxy"};
	const struct net_list *list = (const struct net_list *)rules->list;
	uint32_t left = ENTRY_RULES_MAX;

	json_open(json, "rules", '{');
	json_bool(json, "allow_private", rules->allow_private);
	json_bool(json, "asks", rules->asks);
	json_number(json, "connections_max", rules->connections_max);
	json_number_or_null(json, "in_bytes_s", rules->in_bytes_s);
	json_number_or_null(json, "out_bytes_s", rules->out_bytes_s);
	for (enum net_list_kind kind = 0; kind < NET_LISTS; kind++)
		put_rules_of(json, names[kind], list, kind, &left);
	json_number(json, "left_out", net_list_count(list) - (ENTRY_RULES_MAX - left));
	json_close(json);
}

static void put_shares(struct json *json, const struct plan *plan)
{
	uint32_t count = plan->steps_count < PLAN_STEPS_MAX ? plan->steps_count : PLAN_STEPS_MAX,
		 put = 0, left_out = 0;

	json_open(json, "shares", '[');
	for (uint32_t i = 0; i < count; i++) {
		const struct plan_step *step = &plan->steps[i];

		if (step->kind != PLAN_SHARE)
			continue;
		if (put == ENTRY_SHARES_MAX) {
			left_out++;
			continue;
		}
		json_open(json, NULL, '{');
		entry_put_text(json, "target", plan_text(plan, step->target), ENTRY_TEXT_MAX);
		json_text(json, "access",
		          step->layer == PLAN_LAYER_SOURCE  ? "copy-on-write"
		          : step->layer == PLAN_LAYER_STORE ? "store"
		          : step->is_socket                 ? "socket"
		          : step->writable                  ? "read-write"
		                                            : "read-only");
		entry_put_text(json, "from", plan_text(plan, step->from), ENTRY_TEXT_MAX);
		json_close(json);
		put++;
	}
	json_close(json);
	if (left_out)
		json_number(json, "shares_left_out", left_out);
}

static void put_in_force(struct json *json, const struct plan *plan,
                         const struct egress_rules *rules)
{
	json_open(json, "in_force", '{');
	plan_fields_put_limits(json, "limits", &plan->limits, PLAN_FIELDS_ALL);
	plan_fields_put_limits(json, "user_limits", &plan->user_limits, PLAN_FIELDS_SUM);
	json_number(json, "sandboxes_max", plan->sandboxes_max);
	plan_fields_put_life(json, &plan->life);
	plan_fields_put_identity(json, plan);
	plan_fields_put_privileges(json, plan);
	json_text(json, "network", plan_name_network(plan->network));
	if (rules)
		entry_put_rules(json, rules);
	else
		json_null(json, "rules");
	put_shares(json, plan);
	entry_put_text(json, "label", plan_text(plan, plan->label), ENTRY_TEXT_MAX);
	entry_put_text(json, "selinux_type", plan_text(plan, plan->selinux_type), ENTRY_TEXT_MAX);
	json_bool(json, "label_required", plan->label_required);
	plan_fields_put_weaker(json, plan);
	json_close(json);
}

void entry_put_plan(struct json *json, const struct plan *plan, const struct egress_rules *rules,
                    bool is_short)
{
	entry_put_text(json, "name", plan_text(plan, plan->name), ENTRY_TEXT_MAX);
	entry_put_section(json, "profile", plan_text(plan, plan->profile_name),
	                  plan_text(plan, plan->profile_place));
	entry_put_section(json, "grant", plan_text(plan, plan->grant_name),
	                  plan_text(plan, plan->grant_place));
	json_bool(json, "is_dry", plan->is_dry);
	entry_put_text(json, "asked", plan_text(plan, plan->asked), ENTRY_TEXT_MAX);
	if (is_short)
		json_null(json, "in_force");
	else
		put_in_force(json, plan, rules);
}
