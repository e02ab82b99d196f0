/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which sandboxes requests may use: those made by this agent, or by an agent that was
 * started with the same bounds in the same directory. If the bounds say so: all sandboxes that the
 * helper shows to the caller. Any other sandbox may have been given more than these bounds allow.
 *
 * Runs with the caller's privilege.
 */
#pragma once

#include "agent/agent.h"

/*
 * Checks user, label and network. The network counts because a sandbox that came up with more
 * network than the bounds allow, and is about to be ended for that, has the label, too.
 */
bool own_is(const struct agent *agent, const struct yett_sandbox_status *status);

/* Returns 0, or YETT_E_PERMISSION_DENIED if own_is() is false. */
_must_check_ int own_check(const struct agent *agent, const struct yett_sandbox_status *status,
                           struct yett_error *error);

/*
 * Asks the helper for the sandbox, checks it, and returns its id. Callers must then use the id: a
 * moment later, the name, or a name that looks like an id, may belong to another sandbox. Returns
 * 0, YETT_E_PERMISSION_DENIED or YETT_E_NOT_FOUND.
 */
_must_check_ int own_find(struct agent *agent, const char *id_or_name, char ret_id[YETT_ID_SIZE],
                          struct yett_error *error);
