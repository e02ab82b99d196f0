/* SPDX-License-Identifier: Apache-2.0 */
/* See refuse_plan.h. No privilege. */
#include "programs/decide/decider/refuse_plan.h"
#include "base/error_rule.h"
#include "base/escape.h"
#include "base/units.h"

#include <stdio.h>
#include <string.h>

/* For a bound over all sandboxes of the user: the step of `kind` names the grant or ceiling. */
static struct error_rule rule_of_bound(const struct plan *plan, enum plan_step_kind kind,
                                       const char *key)
{
	const struct plan_step *step = &plan->steps[kind];

	return (struct error_rule){.key = key,
	                           .section = plan_text(plan, step->target),
	                           .name = plan_text(plan, step->source),
	                           .file = plan_text(plan, step->from)};
}

static bool is_of_share(const char *key)
{
	return strcmp(key, "share_ro") == 0 || strcmp(key, "share_rw") == 0 ||
	       strcmp(key, "sockets") == 0;
}

void refuse_plan_complete(const struct plan *plan, struct yett_error *error)
{
	char key[sizeof error->rule], target[ESCAPE_SIZE], asked[UNITS_TEXT_SIZE],
		allowed[UNITS_TEXT_SIZE];
	const struct plan_step *step =
		error->line < plan->steps_count && error->line < PLAN_STEPS_MAX
			? &plan->steps[error->line]
			: NULL;
	struct error_rule rule;

	(void)snprintf(key, sizeof key, "%s", error->rule);
	if (strcmp(key, "max_sandboxes") == 0) {
		rule = rule_of_bound(plan, PLAN_SLOT, key);
		rule.asked = units_format_number(plan->sandboxes_max + UINT64_C(1), asked);
		rule.allowed = units_format_number(plan->sandboxes_max, allowed);
	} else if (strcmp(key, "user_memory") == 0) {
		rule = rule_of_bound(plan, PLAN_CGROUP, key);
		rule.asked = units_format_size((uint64_t)error->line << 20, asked);
		rule.allowed = units_format_size(plan->user_limits.memory_bytes, allowed);
	} else if (is_of_share(key) && step) {
		rule = (struct error_rule){
			.key = key,
			.section = "grant",
			.name = plan_text(plan, plan->grant_name),
			.file = plan_text(plan, step->from),
			.asked = escape_text(plan_text(plan, step->target), target, sizeof target),
			.allowed = plan_text(plan, step->source),
			.is_list = true};
		rule.allowed = *rule.allowed ? rule.allowed : "nothing";
	} else {
		return;
	}
	error_rest(error, &rule);
}
