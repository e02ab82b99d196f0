/*
 * Ports and sockets that this program serves while it runs: --publish, --relay-socket and yett net.
 *
 * Runs as the caller.
 */
#pragma once

#include "base/error.h"
#include "libclient/yett.h"

#define RELAYS_MAX 64

/* What is asked for. */
struct relay_wish {
	char *address;            /* of the host; owned; NULL: the library's default */
	uint16_t host_port, port; /* 0, 0: it is a socket */
	char *path, *target;      /* owned */
	bool is_open;
};

struct relays {
	struct relay_wish wishes[RELAYS_MAX];
	size_t count;
	struct yett_relay *relay; /* NULL until relays_open(), and where nothing is asked for */
};

/* Adds [ADDR:]HOSTPORT:PORT, an address of IPv6 in brackets; and PATH[:TARGET], as of a share.
 * `option` is what it is told as. */
_must_check_ int relays_add_port(struct relays *relays, const char *option, const char *value,
                                 struct yett_error *error);
_must_check_ int relays_add_socket(struct relays *relays, const char *option, const char *value,
                                   struct yett_error *error);

/* Opens all of them, and tells of ports that the kernel chose; with `tells_all` of every one. */
_must_check_ int relays_open(struct relays *relays, struct yett_sandbox *sandbox, bool tells_all,
                             struct yett_error *error);

/* For poll(2), readable when relays_dispatch() has something to do; -1: never. */
int relays_fd(const struct relays *relays);
void relays_dispatch(struct relays *relays);

/* Ends them. In a sandbox that goes on (else NULL) the sockets are taken away, at which nobody
 * listens any more. */
void relays_close(struct relays *relays, struct yett_sandbox *goes_on);

void relays_free(struct relays *relays);
