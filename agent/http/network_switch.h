/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches the network of a running sandbox off and on again. The state survives restarts of the
 * server.
 *
 * Switching off denies every rule that was allowed, and in an open network everything. The
 * sandbox's proxy enforces these rules, whatever happens to this program. The file
 * $XDG_STATE_HOME/yett/agent-network.json keeps the rules to restore. Runs with the caller's
 * privilege, within its grant.
 */
#pragma once

#include "agent/http/exchange.h"

/* GET /network/SANDBOX: {"sandbox", "enabled", "rules": as in the operation sandboxes} */
void network_answer(struct exchange *exchange);

/* PUT /network/SANDBOX {"enabled": BOOL}: the same answer, after the change. */
void network_switch(struct exchange *exchange);
