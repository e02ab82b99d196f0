/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a running sandbox: receives reports from the connector (yett-dialer), and restarts
 * the network's programs once.
 *
 * Runs in the supervisor, after privilege_narrow(). A report is a struct of fixed size. Nothing in
 * it is trusted except that it is about this sandbox: it is counted, and passed on to the followers
 * unchanged. Must never wait for the connector.
 */
#pragma once

#include "helper/setup/setup.h"
#include "helper/supervisor/events.h"

/*
 * A descriptor for poll(2), readable when network_hear() has work; -1: nothing is received now.
 * `heard` counts the packets that were received.
 */
int network_fd(struct pace *heard, const struct setup *setup);

/*
 * Receives the reports that are there. If the network's programs have ended, restarts them once; if
 * they end again, the sandbox has no network any more.
 */
void network_hear(struct pace *heard, struct setup *setup, struct events *events);

/*
 * Applies the sealed rules `*rules` at once and, on success, takes them over for a later restart.
 * `changes` is the number that the record had when the caller read the rules. Returns -EAGAIN if
 * the record has another number: someone has changed the rules since, and these would undo that
 * change. Else returns 0, -ENOTCONN if there is no network, or -errno.
 */
_must_check_ int network_change(struct setup *setup, uint32_t changes, int *rules);
