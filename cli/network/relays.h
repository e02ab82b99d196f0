/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ports and sockets that this process relays while it runs, for --publish, --relay-socket and yett
 * net.
 *
 * Runs as the caller.
 */
#pragma once

#include "base/error.h"
#include "libclient/yett.h"

#define RELAYS_MAX 64

/* One port or socket to relay. */
struct relay_request {
	char *address;            /* address on the host; owned; NULL: the library's default */
	uint16_t host_port, port; /* both 0 for a socket */
	char *path, *target;      /* owned */
	bool is_open;
};

struct relays {
	struct relay_request requests[RELAYS_MAX];
	size_t count;
	struct yett_relay *relay; /* NULL until relays_open(), and if there is nothing to relay */
};

/*
 * Add a relay: a port as [ADDR:]HOSTPORT:PORT, with an IPv6 address in brackets, or a socket as
 * PATH[:TARGET] like a share. Errors name `option`.
 */
_must_check_ int relays_add_port(struct relays *relays, const char *option, const char *value,
                                 struct yett_error *error);
_must_check_ int relays_add_socket(struct relays *relays, const char *option, const char *value,
                                   struct yett_error *error);

/*
 * Opens all relays. Prints each port that the kernel chose; with `reports_all`, prints every relay.
 */
_must_check_ int relays_open(struct relays *relays, struct yett_sandbox *sandbox, bool reports_all,
                             struct yett_error *error);

/* For poll(2): readable when relays_dispatch() has something to do. -1: never. */
int relays_fd(const struct relays *relays);
void relays_dispatch(struct relays *relays);

/*
 * Closes all relays. `goes_on` is the sandbox if it keeps running, otherwise NULL; removes the
 * relayed sockets inside, where nobody listens any more.
 */
void relays_close(struct relays *relays, struct yett_sandbox *goes_on);

void relays_free(struct relays *relays);
