/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completes refusals of yett-helper that are based on the policy. The helper only names the key and
 * a number (error_key()). The plan, or the policy, has the rest. The numbers:
 *
 *	max_sandboxes               0
 *	user_memory                 the bound that would be needed, in MiB
 *	share_ro, share_rw, sockets the index of the plan's step
 *	max_creations, max_requests the index of the policy's grant: refuse_rate()
 *
 * Pure: no I/O header, no privilege.
 */
#pragma once

#include "helper/plan/plan.h"

/* Completes such an error with the texts of `plan`. Leaves every other error as it is. */
void refuse_plan_complete(const struct plan *plan, struct yett_error *error);
