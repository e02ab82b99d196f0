/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and frees the state of yett-agent with all its parts. Runs with the caller's privilege. */
#pragma once

#include "agent/agent.h"

/*
 * `given` holds the bounds that options set; each of its members replaces the member of the
 * settings file. NULL: no such option.
 */
_must_check_ int agent_new(const json_t *given, struct agent **ret_agent, struct yett_error *error);

/* Ends running executions and releases all sandboxes. Accepts NULL. */
void agent_free(struct agent *agent);
