/* SPDX-License-Identifier: Apache-2.0 */
/* See plan.h. No privilege, no output. */
#include "helper/plan/plan.h"

const char *plan_text(const struct plan *plan, struct plan_text text)
{
	uint32_t end = plan->arena_used < PLAN_ARENA_MAX ? plan->arena_used : PLAN_ARENA_MAX;

	/*
	 * The plan came from another process: a text that does not end inside the arena counts as
	 * empty.
	 */
	if (text.offset >= end || !memchr(plan->arena + text.offset, '\0', end - text.offset))
		return "";
	return plan->arena + text.offset;
}

static bool same_text(const struct plan *a, struct plan_text text_a, const struct plan *b,
                      struct plan_text text_b)
{
	return strcmp(plan_text(a, text_a), plan_text(b, text_b)) == 0;
}

bool plan_has_layers(const struct plan *plan)
{
	bool has_layers = false;

	for (uint32_t i = 0; i < plan->steps_count; i++)
		has_layers = has_layers || plan->steps[i].layer;
	return has_layers;
}

bool plan_same_base(const struct plan *a, const struct plan *b)
{
	return a->policy_generation == b->policy_generation && a->profile == b->profile &&
	       a->terminals_max == b->terminals_max && a->caller_uid == b->caller_uid &&
	       a->caller_gid == b->caller_gid && a->groups_count == b->groups_count &&
	       memcmp(a->groups, b->groups, a->groups_count * sizeof a->groups[0]) == 0 &&
	       same_text(a, a->home, b, b->home) && same_text(a, a->shell, b, b->shell) &&
	       same_text(a, a->user_name, b, b->user_name) &&
	       same_text(a, a->group_name, b, b->group_name);
}
