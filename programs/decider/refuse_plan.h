/*
 * Refusals of root's that rest on the policy: it names the key and gives a number (error_key()),
 *and what there is to say of that the plan has, or the policy.
 *
 *	max_sandboxes               0
 *	user_memory                 how much would have to be allowed, in MiB
 *	share_ro, share_rw, sockets which step of the plan
 *	max_creations, max_requests which of the grants of the policy: refuse_rate()
 *
 * Pure: no I/O header, no privilege.
 */
#pragma once

#include "helper/plan/plan.h"

/* Writes down the rest of such an error about what `plan` asks for; of any other one nothing. */
void refuse_plan_complete(const struct plan *plan, struct yett_error *error);
