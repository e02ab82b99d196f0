/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fits a plan to what a helper without root, or without BPF, can provide.
 *
 * Pure except for memory: no I/O, no privilege. A value that the request asks for, or that the
 * profile insists on, is refused with the reason. A default of the profile is left out of the plan
 * and named in plan->weaker.
 */
#pragma once

#include "helper/monitor/decider.h"
#include "programs/decide/decider/authorize.h"

/* The bits of enum cgroup_controller, whose header the decider does not include. */
enum fit_controller { FIT_MEMORY = 1, FIT_CPU = 2, FIT_PIDS = 4, FIT_IO = 8 };

/*
 * Checks that the network of the decision works where connections are caught only at the ports that
 * rules name (by_port of struct decider_begin). Returns 0, UNSUPPORTED with a hint in the detail,
 * a code of rules_make() or -ENOMEM. `policy` is the policy of the decision: an error says where in
 * the policy a rule is written.
 */
_must_check_ int fit_network(const struct policy *policy, const struct decision *decision,
                             bool is_rootless, struct yett_error *error);

/* Fits the plan to a helper without root. Returns 0, or UNSUPPORTED with a hint in the detail. */
_must_check_ int fit_plan(const struct means *means, const struct decision *decision,
                          struct plan *plan, struct yett_error *error);
