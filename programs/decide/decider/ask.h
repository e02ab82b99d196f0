/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests from the decider to its monitor, for everything that needs privilege. Only one request
 * is open at a time. helper/monitor/decider.h lists the acts.
 *
 * Runs without privilege. The decider trusts the monitor, and exits when the monitor is gone.
 */
#pragma once

#include "base/log.h"
#include "helper/monitor/decider.h"

#include <sys/uio.h>

/* The descriptors that came with an answer; -1: none. */
struct ask_fds {
	int first, second;
};

/*
 * Sends `act` with the bytes of `parts` (at most 3), and waits for the answer. Returns 0, or the
 * code with which the monitor refuses the request or ends the connection; `error` has the reason.
 * The caller owns the descriptors in `ret_fds`; if that is NULL, they are closed.
 */
_must_check_ int ask(enum decider_act act, const struct iovec *parts, unsigned count,
                     struct decider_answer *ret_answer, struct ask_fds *ret_fds,
                     struct yett_error *error);

/*
 * Whether the last request failed after the client had disconnected: then no client was refused
 * anything. Each call clears the flag.
 */
bool ask_was_too_late(void);

/* Sends an act that has no data and no answer. */
void ask_report(enum decider_act act);

/* Sends an act that has no answer, with `size` bytes in as many packets as they need. */
void ask_report_bytes(enum decider_act act, const void *bytes, size_t size);

/* Has the monitor log a line about the peer. NOTICE: an action that was taken; INFO: the rest. */
void ask_log(enum log_level level, const char *format, ...) _printf_(2, 3);

/*
 * Receives the monitor's first packet, with the client's connection and a socket to yett-reader
 * (-1: none). Never NULL: the process exits if the packet does not come.
 */
struct decider_begin *ask_begin(struct ask_fds *ret_fds);
