/* SPDX-License-Identifier: Apache-2.0 */
/* See plan_add.h. No privilege, no output. */
#include "programs/decide/decider/plan_add.h"

#include <string.h>

uint64_t plan_lesser(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
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
