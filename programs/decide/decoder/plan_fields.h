/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers of a plan (plan.h) with their names: one table, from which the plan's text for
 * people, its JSON and the audit's records are made. Pure; no privilege. yett-helper does not link
 * this file.
 */
#pragma once

#include "base/json.h"
#include "helper/plan/plan.h"

/* Which members of struct plan_limits: bits. */
enum plan_fields {
	PLAN_FIELDS_SUM = 1 << 0,     /* those that also limit all sandboxes of a user together */
	PLAN_FIELDS_CGROUP = 1 << 1,  /* those that control groups set */
	PLAN_FIELDS_PROCESS = 1 << 2, /* those that setrlimit(2) sets */
	PLAN_FIELDS_ALL = PLAN_FIELDS_CGROUP | PLAN_FIELDS_PROCESS,
};

/* Adds an object `name` with the limits of the groups in `fields`; 0: unlimited. */
void plan_fields_put_limits(struct json *json, const char *name, const struct plan_limits *limits,
                            unsigned fields);

/*
 * Prints the limits of the groups in `fields` on one line. Leaves out limits of disks that are not
 * set, and a limit of core files that allows none.
 */
void plan_fields_print_limits(FILE *to, const struct plan_limits *limits, unsigned fields);

/* Adds the object "life". */
void plan_fields_put_life(struct json *json, const struct plan_life *life);

/* Add "identity"; and "capabilities", "nested_userns" and "perf_events". */
void plan_fields_put_identity(struct json *json, const struct plan *plan);
void plan_fields_put_privileges(struct json *json, const struct plan *plan);

/* Adds "weaker": the reasons why the sandbox is weaker than its profile says, or null. */
void plan_fields_put_weaker(struct json *json, const struct plan *plan);
