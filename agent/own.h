/*
 * Which sandboxes requests may be about: those that this agent made, or one that was started with
 * the same bounds at the same place; all of the user's, where the bounds say so. What somebody else
 * made may have been given more.
 *
 * With the caller's privilege.
 */
#pragma once

#include "agent/agent.h"

/* By its user, its label and its network: one that came up with more than may be asked for, or
 * whose making was given up, is none. */
bool own_is(const struct agent *agent, const struct yett_sandbox_status *status);

/* YETT_E_PERMISSION_DENIED: it is none of those. */
_must_check_ int own_check(const struct agent *agent, const struct yett_sandbox_status *status,
                           struct yett_error *error);

/*
 * Asks the helper which one is meant. What is done with it is done by its id then: by a name, or
 * what looks like an id, another one may be found a moment later. YETT_E_PERMISSION_DENIED,
 * YETT_E_NOT_FOUND
 */
_must_check_ int own_find(struct agent *agent, const char *id_or_name, char ret_id[YETT_ID_SIZE],
                          struct yett_error *error);
