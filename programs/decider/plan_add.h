/*
 * How a plan (plan.h) is made, text by text and step by step. Pure; no privilege. Who carries one
 * out has none of this.
 */
#pragma once

#include "helper/plan/plan.h"

/* Of two bounds, of which 0 is none. */
uint64_t plan_lesser(uint64_t a, uint64_t b);

/* Appends a copy of `string`. -ENOSPC when the arena is full. */
_must_check_ int plan_add_text(struct plan *plan, const char *string, struct plan_text *ret_text);

/* Appends a step; NULL when there are PLAN_STEPS_MAX. The step is zeroed but for its kind. */
struct plan_step *plan_add_step(struct plan *plan, enum plan_step_kind kind);
