/*
 * What the sockets of a sandbox's network are kept from, in the front and in the dialer: part of
 * the filter of each.
 *
 * A socket that was connected is to go to no second place, and to signal nobody. Both processes
 * hold such, and either may be captured.
 */
#pragma once

#include <linux/filter.h>

/*
 * Instructions for lockdown_filter_with(): the kernel kills the process for data that connects
 * (MSG_FASTOPEN), and for what has a descriptor send signals (F_SETOWN and its like, O_ASYNC).
 * seccomp(2), fcntl(2), tcp(7)
 */
#define GUARD_CHECKS 17
extern const struct sock_filter guard_checks[GUARD_CHECKS];
