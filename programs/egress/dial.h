/*
 * One attempt to connect: a socket that is on its way to an address that was decided about a moment
 * before.
 *
 * As the caller, without privilege; nothing here waits. connect(2), tcp(7)
 */
#pragma once

#include "base/net_address.h"

#include <linux/filter.h>

/* What tcp_info tells, in the kernel's numbers: the C libraries have a struct that is too old, or
 * none beside these. tcp_states.h */
enum dial_state {
	DIAL_SYN_SENT = 2,
	DIAL_SYN_RECV = 3,
	DIAL_TIME_WAIT = 6,
	DIAL_CLOSE = 7,
	DIAL_CLOSE_WAIT = 8,
	DIAL_LAST_ACK = 9,
	DIAL_CLOSING = 11,
};

/*
 * Instructions for lockdown_filter_with(): the kernel kills the process for any socket but such as
 * dial_begin() makes. One of another family leads to the caller's session bus, or to whatever else
 * serves the caller by a name. seccomp(2)
 */
#define DIAL_CHECKS 10
extern const struct sock_filter dial_checks[DIAL_CHECKS];

/* A non-blocking socket that connects, or has; or -errno. */
_must_check_ int dial_begin(const struct net_address *address, uint16_t port);

/* What became of it: 0 when it is connected, -EINPROGRESS, else -errno of why it failed. */
_must_check_ int dial_result(int fd);
