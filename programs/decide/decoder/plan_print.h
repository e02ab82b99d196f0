/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints plans, for people and for programs.
 *
 * Runs in yett-decoder, without privilege. The plan is not trusted: only data within it is read,
 * and the text for people has no control characters that a terminal obeys. Must not allocate
 * memory.
 */
#pragma once

#include "helper/plan/plan.h"

#include <stdio.h>

/*
 * Prints the plan as text for people: one line for each step, with the policy line that each value
 * comes from, if any. Then prints NUL, and the same as a JSON object, with limits and sizes as
 * numbers.
 */
void plan_print(FILE *out, const struct plan *plan);

/* Prints only the JSON object. */
void plan_print_json(FILE *out, const struct plan *plan);
