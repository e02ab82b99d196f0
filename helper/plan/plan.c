/* See plan.h. No privilege, no output. */
#include "helper/plan/plan.h"

#include <string.h>

#define X(name, text) [PLAN_##name] = text,
static const char *const step_names[PLAN_STEP_KINDS] = {PLAN_STEPS(X)};
#undef X

const char *plan_step_name(enum plan_step_kind kind)
{
	return kind < PLAN_STEP_KINDS ? step_names[kind] : "unknown step";
}

uint64_t plan_lesser(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

void plan_narrow_limits(struct plan_limits *limits, const struct plan_limits *by)
{
	uint64_t *values = (uint64_t *)limits;
	const uint64_t *bounds = (const uint64_t *)by;

	_Static_assert(sizeof *limits % sizeof *values == 0, "nothing but numbers");
	for (size_t i = 0; i < sizeof *limits / sizeof *values; i++)
		values[i] = plan_lesser(values[i], bounds[i]);
}

const char *plan_text(const struct plan *plan, struct plan_text text)
{
	uint32_t end = plan->arena_used < PLAN_ARENA_MAX ? plan->arena_used : PLAN_ARENA_MAX;

	/* The plan came from another process: a text that does not end inside the arena is none. */
	if (text.offset >= end || !memchr(plan->arena + text.offset, '\0', end - text.offset))
		return "";
	return plan->arena + text.offset;
}

int plan_add_text(struct plan *plan, const char *string, struct plan_text *ret_text)
{
	size_t size = strlen(string) + 1;

	if (plan->arena_used == 0)
		plan->arena[plan->arena_used++] = '\0';
	if (size == 1) {
		ret_text->offset = 0;
		return 0;
	}
	if (plan->arena_used > PLAN_ARENA_MAX || size > PLAN_ARENA_MAX - plan->arena_used)
		return -ENOSPC;
	memcpy(plan->arena + plan->arena_used, string, size);
	ret_text->offset = plan->arena_used;
	plan->arena_used += (uint32_t)size;
	return 0;
}

struct plan_step *plan_add_step(struct plan *plan, enum plan_step_kind kind)
{
	struct plan_step *step;

	if (plan->steps_count >= PLAN_STEPS_MAX)
		return NULL;
	step = &plan->steps[plan->steps_count++];
	*step = (struct plan_step){.kind = kind};
	return step;
}

static bool same_text(const struct plan *a, struct plan_text text_a, const struct plan *b, struct plan_text text_b)
{
	return strcmp(plan_text(a, text_a), plan_text(b, text_b)) == 0;
}

bool plan_same_base(const struct plan *a, const struct plan *b)
{
	return a->policy_generation == b->policy_generation && a->profile == b->profile && a->terminals_max == b->terminals_max &&
	       a->caller_uid == b->caller_uid && a->caller_gid == b->caller_gid && a->groups_count == b->groups_count &&
	       memcmp(a->groups, b->groups, a->groups_count * sizeof a->groups[0]) == 0 && same_text(a, a->home, b, b->home) &&
	       same_text(a, a->shell, b, b->shell) && same_text(a, a->user_name, b, b->user_name) &&
	       same_text(a, a->group_name, b, b->group_name);
}
