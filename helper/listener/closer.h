/*
 * The listener's side of yett-closer, which ends connections that are not served: helper/closer/main.c says why. It is started when it is
 * first needed, with the privilege that giving up all of it takes (CAP_SETPCAP, CAP_SETUID, CAP_SETGID).
 */
#pragma once

#include "base/fd.h"
#include "helper/closer/closer.h"

#include <stdint.h>

struct closer {
	int socket; /* -1: none is running */
	uint32_t id;
	const char *libexec;
};

/*
 * Hands `connection` over (consumed). With the right to send descriptors: unix(7), ETOOMANYREFS. One that cannot be handed over
 * stays open: rather a descriptor lost than a caller that is held up.
 */
void closer_take(struct closer *closer, int connection, enum closer_reason reason);
