/*
 * Tells the service manager how the listener is doing. sd_notify(3), "Notes": one datagram to the
 * socket NOTIFY_SOCKET names.
 *
 * In the listener; needs no privilege. Without a service manager every call does nothing. No
 * library: the protocol is one line of text, and libsystemd would be linked into every process of
 * the helper.
 */
#pragma once

#include "base/fd.h"

#include <stdint.h>
#include <sys/un.h>

struct notify {
	int socket; /* -1: nobody wants to know */
	struct sockaddr_un address;
	unsigned address_length;
	uint64_t watchdog_ms; /* a sign of life is wanted this often; 0: never */
};

/* Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID, and takes them out of the environment. */
void notify_open(struct notify *notify);

/* "READY=1", "RELOADING=1", "STOPPING=1", "WATCHDOG=1". What cannot be sent is not sent again. */
void notify_send(const struct notify *notify, const char *state);
