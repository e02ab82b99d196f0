/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends connections that the listener does not serve. yett-closer (programs/closer/main.c) sends the
 * client the reason and closes the connection, because closing may block for as long as the client
 * chose (SO_LINGER of a socket that is queued there). The listener must never block so.
 *
 * Runs in the listener, as root. yett-closer is started at the first need. Starting it takes
 * CAP_SETPCAP, CAP_SETUID and CAP_SETGID, with which yett-closer drops all privilege.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>

enum closer_reason {
	CLOSER_HUNG_UP = 1, /* The client is gone: there is nobody to send a reason to. */
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
 * Has `reason` sent to the client and `connection` (consumed) closed. If neither the listener nor
 * yett-closer can close the connection, its descriptor leaks: a leak is better than a listener that
 * blocks. Returns 0, or -errno if privilege cannot be lowered again.
 */
_must_check_ int closer_take(struct closer *closer, int connection, enum closer_reason reason);
