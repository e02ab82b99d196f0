/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a plan (plan.h), text by text and step by step. Pure; no privilege. yett-helper does
 * not link this file; yett-init does, for plan_lesser() alone.
 */
#pragma once

#include "helper/plan/plan.h"

/* The lower of two bounds, where 0 means no bound. */
uint64_t plan_lesser(uint64_t a, uint64_t b);

/* Appends a copy of `string` to the arena. Returns 0, or -ENOSPC when the arena is full. */
_must_check_ int plan_add_text(struct plan *plan, const char *string, struct plan_text *ret_text);

/* Appends a step, zeroed except for its kind. Returns NULL when there are PLAN_STEPS_MAX. */
struct plan_step *plan_add_step(struct plan *plan, enum plan_step_kind kind);
