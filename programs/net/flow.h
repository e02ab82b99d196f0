/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of one connection of a sandbox, in both directions: moves bytes from socket to pipe to
 * socket, and must not read them, except for urgent data.
 *
 * Runs without privilege. A direction buffers at most FLOW_HELD_MAX bytes: if one side does not
 * read, the other side is not read from. An end of file is passed on, and the other direction stays
 * open. The caller waits, with epoll(7), edge-triggered: the readiness that flow_heard() receives
 * is remembered until it is used up.
 */
#pragma once

#include "base/fd.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum flow_side { FLOW_INSIDE, FLOW_OUTSIDE, FLOW_SIDES };
enum flow_way { FLOW_IN, FLOW_OUT, FLOW_WAYS }; /* into the sandbox, out of it */

struct flow_lane {
	enum {
		FLOW_OPEN,
		/* The source sent end of file; buffered bytes are still to be passed on. */
		FLOW_ENDING,
		FLOW_ENDED, /* the end of file was passed on */
		FLOW_LOST,  /* the destination accepts no more data */
	} state;
	uint32_t held_bytes;
	int pipe[2]; /* -1 until the first bytes */
};

struct flow {
	int sockets[FLOW_SIDES];
	bool is_readable[FLOW_SIDES], is_writable[FLOW_SIDES], is_urgent[FLOW_SIDES];
	struct flow_lane lanes[FLOW_WAYS];
};

#define FLOW_HELD_MAX 65536
#define FLOW_TURN_MAX (4 * FLOW_HELD_MAX) /* bytes after which other connections get their turn */

/*
 * Starts a flow between two sockets (ownership taken), both prepared by flow_prepare(). `outside`
 * may be set later. Assumes that nothing is readable before flow_heard().
 */
void flow_begin(struct flow *flow, int inside, int outside);

/*
 * Sets the options that both sockets need. Afterwards close(2) resets the connection. Returns 0, or
 * -errno, also if the socket is no TCP socket. tcp(7)
 */
_must_check_ int flow_prepare(int socket);

/*
 * Takes the `events` that epoll_wait(2) returned for a side. Returns 0, or -ECONNRESET if the flow
 * is dead: the program has reset the connection, or the connector has cut it.
 */
_must_check_ int flow_heard(struct flow *flow, enum flow_side side, uint32_t events);

/*
 * Moves at most `most` new bytes, and at most one turn. Returns the number of bytes taken from the
 * source. If that is the lesser of `most` and FLOW_TURN_MAX, there may be more (`*ret_is_more`).
 * Returns -errno if the flow is broken and must be ended as broken.
 */
_must_check_ ssize_t flow_move(struct flow *flow, enum flow_way way, size_t most,
                               bool *ret_is_more);

/* Whether both sides have sent end of file, and both were passed on. */
bool flow_is_done(const struct flow *flow);

/* Whether the outer side has sent end of file, which was passed on, and accepts no more data. */
bool flow_is_broken(const struct flow *flow);

/*
 * Closes everything that the flow has, with a shutdown that the connector's duplicate notices.
 * `is_broken`: resets the program's connection.
 */
void flow_end(struct flow *flow, bool is_broken);
