/*
 * Prints plans, for people and for programs.
 *
 * In yett-decoder, without privilege: what a plan says is decided by others, and nothing is made of
 * what is printed. Whatever a plan holds, only what lies inside it is read, and people get nothing
 * that a terminal obeys. Allocates nothing.
 */
#pragma once

#include "helper/plan/plan.h"

#include <stdio.h>

/*
 * The plan as text for a person, a step a line, with the policy line that each value comes from
 * where there is one; and behind a NUL the same as a JSON object, with the limits and sizes as
 * numbers.
 */
void plan_print(FILE *out, const struct plan *plan);

/* The second half of it alone. */
void plan_print_json(FILE *out, const struct plan *plan);
