/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The event streams of a sandbox: who follows the sandbox, and which events they are sent.
 *
 * Runs in the supervisor. A stream is a socket that the supervisor only writes to. The other end is
 * held by a decider, which passes the events on to its client, or by yett-audit. The supervisor
 * must never wait for a reader: events that do not fit into the socket are lost, and the numbers of
 * events show how many.
 */
#pragma once

#include "base/clock.h"
#include "base/error.h"
#include "protocol/message_state.h"

/*
 * Limits how often something is done that a compromised process of a sandbox may cause without end.
 */
struct pace {
	uint64_t since_ms;
	unsigned count; /* since since_ms; whoever does it adds 1 */
};

/* At most HEARD_MAX packets of init, and of the connector, are read in HEARD_MS. */
#define HEARD_MS  50
#define HEARD_MAX 32

/* Returns whether it may be done: `max` times in `interval_ms`. */
static inline bool pace_allows(struct pace *pace, uint64_t interval_ms, unsigned max)
{
	uint64_t now = clock_now_ms();

	if (now - pace->since_ms >= interval_ms)
		*pace = (struct pace){.since_ms = now};
	return pace->count < max;
}

#define FOLLOWERS_MAX 8 /* besides yett-audit, which is the first */

struct events {
	const uint32_t *state;            /* of the sandbox, in its record: enum sandbox_state */
	uint64_t number;                  /* of the last event */
	int followers[1 + FOLLOWERS_MAX]; /* sockets; -1: free */
	/* The sandbox, if yett-audit is meant to follow its events; otherwise NULL. */
	struct setup *setup;
	/* At the last check somebody followed, or yett-audit was meant to. */
	bool are_followed;
	bool is_tainted; /* A follower's socket could not be closed. */
};
#define EVENTS_NONE ((struct events){.followers = {[0 ... FOLLOWERS_MAX] = -1}})

void events_free(struct events *events);

/*
 * Adds the peer of `*socket`, which is then taken over, as a follower. Returns whether it could:
 * not if there are FOLLOWERS_MAX already.
 */
_must_check_ bool events_add(struct events *events, int *socket);

/*
 * Returns whether anybody follows, or yett-audit is meant to. Removes followers that have closed
 * their end.
 */
bool events_are_followed(struct events *events);

/*
 * If yett-audit is meant to follow and does not, connects the yett-audit that runs now. `number` is
 * that of the last event that it is not sent.
 */
void events_see_to_audit(struct events *events, uint64_t number);

/*
 * Numbers the event and sends it to all followers. `lost`: so many events just before it never
 * reached the supervisor. `more` (or NULL) follows the event in the packet: for a connection a
 * struct egress_report, for a command the arguments that init reported.
 */
struct iovec;
void events_report(struct events *events, struct message_happened event, const struct iovec *more,
                   uint32_t lost);
