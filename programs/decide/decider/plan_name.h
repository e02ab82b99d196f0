/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for the parts of a plan (plan.h), for people. Pure; no privilege. yett-helper does not link
 * this file.
 */
#pragma once

#include "helper/plan/plan.h"

/* First character of the key of a label that is an annotation. Same as MESSAGE_ANNOTATION. */
#define PLAN_ANNOTATION '#'

/* The name of a step in errors and printed plans. */
const char *plan_name_step(enum plan_step_kind kind);

/* The name of a network mode in the policy; "" for an invalid number. */
const char *plan_name_network(uint32_t network);
