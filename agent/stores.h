/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes stores of copy-on-write shares in which nothing was changed, after their sandbox has
 * ended. Only for sandboxes of this program.
 *
 * Runs with the caller's privilege. A store is locked while its sandbox runs. The lock is polled,
 * because the sandbox's handle is closed by then and no event reports the end.
 */
#pragma once

#include "agent/agent.h"

struct stores;

/* NULL: no memory. */
struct stores *stores_new(struct agent *agent);
/* First waits up to AT_END_US for the expected sandboxes to end. Accepts NULL. */
void stores_free(struct stores *stores);

/*
 * Expects the sandbox with this id to end. Once it has, removes those of its stores in which
 * nothing was changed. A store that cannot be removed stays, and `yett work list` shows it.
 */
void stores_expect(struct agent *agent, const char *sandbox);
