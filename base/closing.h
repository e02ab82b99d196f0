/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the time that close(2) takes on descriptors that an untrusted process shares or shared.
 *
 * The last close of a Unix socket also closes the descriptors queued in it. Until Linux 6.9, the
 * close of any Unix socket can also close descriptors that other processes left in flight
 * (unix_gc()). Such a descriptor can be a socket with SO_LINGER (socket(7)), on which close(2)
 * blocks for as long as its sender chose. Any signal interrupts that wait.
 */
#pragma once

#include <stdbool.h>

/*
 * While on, no close blocks for more than 20 ms: a timer interrupts it. Uses SIGALRM and
 * ITIMER_REAL of this process.
 */
void closing_bound(bool is_on);

/* fd_close() under closing_bound(), which is off afterwards. Returns -1. */
int closing_fd(int fd);
