/*
 * What people call the parts of a plan (plan.h). Pure; no privilege. Root's program names none of
 * them.
 */
#pragma once

#include "helper/plan/plan.h"

/* begins the key of a label that is an annotation: as MESSAGE_ANNOTATION */
#define PLAN_ANNOTATION '#'

/* As errors and a printed plan have it. */
const char *plan_name_step(enum plan_step_kind kind);

/* As the policy writes it; "" for what is none. */
const char *plan_name_network(uint32_t network);
