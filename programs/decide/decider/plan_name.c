/* SPDX-License-Identifier: Apache-2.0 */
/* See plan_name.h. No privilege, no output. */
#include "programs/decide/decider/plan_name.h"

#define X(name, text) [PLAN_##name] = text,
static const char *const step_names[PLAN_STEP_KINDS] = {PLAN_STEPS(X)};
#undef X

const char *plan_name_step(enum plan_step_kind kind)
{
	return kind < PLAN_STEP_KINDS ? step_names[kind] : "unknown step";
}

const char *plan_name_network(uint32_t network)
{
	static const char *const names[PLAN_NETWORKS] = {"none", "limited", "open", "host"};

	return network < PLAN_NETWORKS ? names[network] : "";
}
