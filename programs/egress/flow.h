/*
 * What goes through one connection of a sandbox, both ways: bytes are moved from socket to pipe to
 * socket, and never looked at.
 *
 * Without privilege. A way holds at most FLOW_HELD_MAX bytes: who does not read is not read for.
 * The end of one way is passed on, and the other way stays. Waiting is the caller's, by epoll(7),
 * edge-triggered: what flow_heard() has been told of counts until it is used up.
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
		FLOW_ENDING, /* its source has said all; what is held is still to be passed on */
		FLOW_ENDED,  /* and so was its end */
		FLOW_LOST,   /* its destination takes no more */
	} state;
	uint32_t held_bytes;
	int pipe[2]; /* -1 until something goes this way */
};

struct flow {
	int sockets[FLOW_SIDES];
	bool is_readable[FLOW_SIDES], is_writable[FLOW_SIDES], is_urgent[FLOW_SIDES];
	struct flow_lane lanes[FLOW_WAYS];
};

#define FLOW_HELD_MAX 65536
#define FLOW_TURN_MAX (4 * FLOW_HELD_MAX) /* after which others have theirs */

/* Between sockets that it takes, both of flow_prepare(); `outside` may be set later. Nothing is
 * there to be read before flow_heard(). */
void flow_begin(struct flow *flow, int inside, int outside);

/* Sets the options that both sockets need. From then on closing is a reset. -errno: it is no socket
 * of TCP. tcp(7) */
_must_check_ int flow_prepare(int socket);

/*
 * What epoll_wait(2) has told of a side: `events` of epoll_event. -ECONNRESET: nothing can come of
 * the flow any more, since the program is gone, or the dialer has cut the connection.
 */
_must_check_ int flow_heard(struct flow *flow, enum flow_side side, uint32_t events);

/*
 * Moves what it can, of new bytes at most `most` and those of one turn. How many were taken in: of
 * `most` or FLOW_TURN_MAX, whichever is less, there may be more (`*ret_is_more`). -errno: the flow
 * is broken, and to be ended as such.
 */
_must_check_ ssize_t flow_move(struct flow *flow, enum flow_way way, size_t most,
                               bool *ret_is_more);

/* Both sides have said all, and it was passed on. */
bool flow_is_done(const struct flow *flow);

/* What one side has said all of, and the other takes nothing of. */
bool flow_is_broken(const struct flow *flow);

/* Closes all that it has. The dialer's duplicate hears of it. Broken: the program is told by a
 * reset. */
void flow_end(struct flow *flow, bool is_broken);
