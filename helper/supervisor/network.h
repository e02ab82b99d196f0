/*
 * The network of a sandbox while it runs: what yett-dialer says of it, and that it is started again
 * once.
 *
 * In its supervisor, after privilege_narrow(). What the dialer says is a struct of fixed size, of
 * which nothing is believed but that it speaks of its own sandbox: it is counted, and passed on to
 * those who follow as it is. Nothing is waited for.
 */
#pragma once

#include "helper/setup/setup.h"
#include "helper/supervisor/events.h"

struct network {
	uint64_t heard_ms;
	unsigned heard; /* packets since then: a captured dialer has more */
};

/* For poll(2), readable when network_hear() has something to do; -1: nobody is heard now. */
int network_fd(struct network *network, const struct setup *setup);

/* Whether what it says is not heard for a moment. */
bool network_is_full(const struct network *network);

/* Hears what there is. When what serves the network has ended, it is started again, or is no more.
 */
void network_hear(struct network *network, struct setup *setup, struct events *events);

/*
 * Has the network go by other rules at once, sealed memory that is taken then, and so the next one,
 * were it started again. `changes`: as the record had it when they were made; who had others in
 * mind would undo what somebody else has changed since. 0, -EAGAIN for that, or -errno.
 */
_must_check_ int network_change(struct setup *setup, uint32_t changes, int *rules);
