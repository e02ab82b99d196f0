/*
 * What a helper without root, or without BPF, cannot give: a plan is fitted to what it can.
 *
 * Pure but for memory: no I/O, no privilege. What was asked for, or what the profile insists on, is
 * refused with the reason; a default of the profile is left out of the plan, and said in
 * plan->weaker.
 */
#pragma once

#include "helper/monitor/decider.h"
#include "programs/decider/authorize.h"

/* As enum cgroup_controller has them, of which this part knows nothing. */
enum fit_controller { FIT_MEMORY = 1, FIT_CPU = 2, FIT_PIDS = 4, FIT_IO = 8 };

/*
 * Whether the network of the decision can be given where only ports that rules are about are caught
 * (struct decider_begin). 0, UNSUPPORTED with the mend, or -ENOMEM. The policy is what was decided
 * by: an error says where in it a rule stands.
 */
_must_check_ int fit_network(const struct policy *policy, const struct decision *decision,
                             bool is_rootless, struct yett_error *error);

/* 0, or UNSUPPORTED with the mend in the detail. */
_must_check_ int fit_plan(const struct means *means, const struct decision *decision,
                          struct plan *plan, struct yett_error *error);
