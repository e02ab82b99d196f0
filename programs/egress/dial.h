/*
 * Attempts to connect: TCP sockets that connect to addresses which were checked right before.
 *
 * Runs as the caller, without privilege. Nothing here blocks. connect(2), tcp(7)
 */
#pragma once

#include "base/net_address.h"

#include <linux/filter.h>

/*
 * Values of tcpi_state, as in the kernel's tcp_states.h. The C library's <netinet/tcp.h>, which
 * defines them, has an old struct tcp_info, and cannot be included together with <linux/tcp.h>.
 */
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
 * Instructions for lockdown_filter_with(): the kernel kills the process if it makes any socket but
 * one as dial_begin() makes. A Unix socket could reach the caller's session bus, or another service
 * of the caller that is reached by a name. seccomp(2)
 */
#define DIAL_CHECKS 10
extern const struct sock_filter dial_checks[DIAL_CHECKS];

/*
 * Returns a non-blocking socket (owned by the caller) that is connecting or connected, or -errno.
 */
_must_check_ int dial_begin(const struct net_address *address, uint16_t port);

/* Returns 0 if the socket is connected, -EINPROGRESS, or -errno of the failure. */
_must_check_ int dial_result(int fd);
