/*
 * Stores of copy-on-write shares in which nothing was changed: they go when the sandbox that this
 * program made them for has ended.
 *
 * With the caller's privilege. Whether a sandbox has ended is seen by the lock of its stores, which
 * is asked for again and again: the handle is closed by then, and nothing else tells.
 */
#pragma once

#include "agent/agent.h"

struct stores;

/* NULL: no memory. */
struct stores *stores_new(struct agent *agent);
/* What is expected is waited for first, a few seconds at most. Takes NULL. */
void stores_free(struct stores *stores);

/*
 * A sandbox by its id, which has ended or is about to: once it has, those of its stores are removed
 * in which nothing was changed. Where that cannot be, they stay, to be seen in `yett work list`.
 */
void stores_expect(struct agent *agent, const char *sandbox);
