/*
 * The network of a sandbox that runs, switched off and on again, which is remembered over restarts
 * of the server.
 *
 * Off is by rules: what was allowed is denied, in an open network all. They are in force where the
 * sandbox's connections are made, whatever becomes of this program; what is kept in a file,
 * $XDG_STATE_HOME/yett/agent-network.json, is which they were. With the caller's privilege, within
 * the grant.
 */
#pragma once

#include "agent/http/server.h"

/* GET /network/SANDBOX: {"sandbox", "enabled", "rules": as of the operation sandboxes} */
void network_answer(struct exchange *exchange);

/* PUT /network/SANDBOX {"enabled": BOOL}; the same answer. */
void network_switch(struct exchange *exchange);
