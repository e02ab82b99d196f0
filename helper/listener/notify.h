/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports the listener's state to the service manager: one datagram to the socket that
 * NOTIFY_SOCKET names. sd_notify(3), "Notes"
 *
 * Runs in the listener and needs no privilege. Without a service manager every call does nothing.
 * It uses no library: the protocol is one line of text, and libsystemd would be linked into every
 * process of the helper.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>
#include <sys/un.h>

struct notify {
	int socket; /* -1: there is no service manager */
	struct sockaddr_un address;
	unsigned address_length;
	/* Send "WATCHDOG=1" at least this often; 0: never. */
	uint64_t watchdog_ms;
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and removes them from the environment. */
void notify_open(struct notify *notify);

/*
 * `state` is "READY=1", "RELOADING=1", "STOPPING=1" or "WATCHDOG=1". A message that cannot be sent
 * is dropped.
 */
void notify_send(const struct notify *notify, const char *state);
