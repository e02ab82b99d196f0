/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts and follows connections by TCP. The caller has just checked the addresses against the
 * network rules.
 *
 * Runs as the caller, without privilege. Nothing here blocks. connect(2), tcp(7)
 */
#pragma once

#include "base/net_address.h"

/*
 * Values of tcpi_state, as in the kernel's tcp_states.h. The C library's <netinet/tcp.h>, which
 * defines them, has an old struct tcp_info, and cannot be included together with <linux/tcp.h>.
 */
enum connect_state {
	CONNECT_SYN_SENT = 2,
	CONNECT_SYN_RECV = 3,
	CONNECT_TIME_WAIT = 6,
	CONNECT_CLOSE = 7,
	CONNECT_CLOSE_WAIT = 8,
	CONNECT_LAST_ACK = 9,
	CONNECT_CLOSING = 11,
};

/*
 * Returns a non-blocking socket (owned by the caller) that is connecting or connected, or -errno.
 */
_must_check_ int connect_begin(const struct net_address *address, uint16_t port);

/* Returns 0 if the socket is connected, -EINPROGRESS, or -errno of the failure. */
_must_check_ int connect_result(int fd);
