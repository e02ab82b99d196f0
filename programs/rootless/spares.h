/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Supervisors that serve one sandbox after the other, for a client that makes several.
 *
 * Runs in the monitor of yett-rootless, with its privilege, and needs none. The supervisor of a
 * connection's second or a later sandbox is kept, because most connections make only one sandbox.
 */
#pragma once

#include "helper/monitor/monitor.h"

struct spares {
	struct monitor_spares calls; /* first: the monitor has a pointer to it */
	/*
	 * Supervisors that can take another sandbox announce themselves on pool[1]; the monitor
	 * reads pool[0]. -1: not made yet.
	 */
	int pool[2];
	/* Supervisors that announce themselves so and were not ended; at most policy->spares. */
	unsigned kept;
	bool is_used;
};

extern const struct spares spares_none;
