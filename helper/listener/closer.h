/*
 * Ends connections that are not served: yett-closer tells why, and closes, for that may take as
 * long as the client chose: programs/closer/main.c. That is started when it is first needed, with
 * the privilege that giving up all of it takes (CAP_SETPCAP, CAP_SETUID, CAP_SETGID).
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
	const char *libexec;
};

/*
 * Has `connection` (consumed) told and closed. One that can be closed neither here nor there stays
 * open: rather a descriptor lost than a caller that is held up. -errno when privilege cannot be
 * given up again.
 */
_must_check_ int closer_take(struct closer *closer, int connection, enum closer_reason reason);
