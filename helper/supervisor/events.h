/*
 * The event streams of a sandbox: who follows it, and what they are told.
 *
 * In its supervisor. A stream is a socket that is only written to; its other end is a decider's,
 * which passes on to its client what it reads. Nobody is waited for: what a reader leaves unread
 * for too long is lost to it, and the numbers of events say how much.
 */
#pragma once

#include "base/error.h"
#include "protocol/message_told.h"

#define FOLLOWERS_MAX 8 /* besides yett-audit, which is the first */

struct events {
	uint64_t number;                  /* of the last event */
	int followers[1 + FOLLOWERS_MAX]; /* sockets; -1 */
	struct setup *setup; /* of a sandbox that yett-audit is to follow; NULL: of another */
	bool are_followed;   /* were so, when that was looked at last, or yett-audit is to */
	bool is_spoilt;      /* something of a follower's could not be closed */
};
#define EVENTS_NONE ((struct events){.followers = {[0 ... FOLLOWERS_MAX] = -1}})

void events_free(struct events *events);

/* Makes a follower of the peer of `socket`, which is borrowed. 0, -EUSERS when there are
 * FOLLOWERS_MAX, or -errno. */
_must_check_ int events_add(struct events *events, int socket, enum sandbox_state state);

/* Whether anybody follows; those that closed their end do not. */
bool events_are_followed(struct events *events);

/* Connects the yett-audit that runs now, where it does not follow and is to. `number`: of the last
 * event that it is not told of. */
void events_see_to_audit(struct events *events, uint64_t number);

/*
 * Numbers the event, and tells those who follow. `lost` so many before it were never told to us.
 * With `more` (else NULL), which follows it in the packet: of a connection a struct egress_told, of
 * a command what init says of its arguments.
 */
struct iovec;
void events_tell(struct events *events, struct message_happened event, const struct iovec *more,
                 enum sandbox_state state, uint32_t lost);
