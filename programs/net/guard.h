/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part that the system call filters of the proxy and the connector share.
 *
 * A connected socket must not be connected to a second place, and must not send signals. Both
 * processes hold such sockets, and either process may be compromised.
 */
#pragma once

#include <linux/filter.h>

/*
 * Instructions for lockdown_filter_with(): the kernel kills the process if it sends data that
 * connects (MSG_FASTOPEN), or makes a descriptor send signals (F_SETOWN and the like, O_ASYNC).
 * seccomp(2), fcntl(2), tcp(7)
 */
#define GUARD_CHECKS 17
extern const struct sock_filter guard_checks[GUARD_CHECKS];
