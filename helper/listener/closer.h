/*
 * Ends connections that are not served: tells why, and closes.
 *
 * A process of its own, started when it is first needed, with an id of its own and no capability. What a client has queued goes
 * with its connection, and whoever closes that last may be held up for as long as the client chose (a TCP socket with
 * SO_LINGER, socket(7)). Nobody waits for this process, and a connection that takes it more than a second is its last one. It
 * reads no byte of a client's.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

enum closer_reason {
	CLOSER_HUNG_UP = 1, /* nobody is there to be told */
	CLOSER_FULL,
	CLOSER_USER_FULL,
	CLOSER_TOO_OFTEN,
	CLOSER_CONFINED,
	CLOSER_NO_PROCESS,
};

struct closer {
	int socket; /* -1: none is running */
	uint32_t id;
};

/*
 * Hands `connection` over (consumed). With the right to send descriptors: unix(7), ETOOMANYREFS. One that cannot be handed over
 * stays open: rather a descriptor lost than a caller that is held up.
 */
void closer_take(struct closer *closer, int connection, enum closer_reason reason);
