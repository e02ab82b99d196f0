/*
 * Closing what somebody else has, or had, too.
 *
 * Whoever is the last to close a Unix socket closes what is queued in it as well, and until
 * Linux 6.9 anybody who closes one closes what others have lost in flight (unix_gc()). That takes
 * as long as its sender chose: socket(7), SO_LINGER. Any signal ends it.
 */
#pragma once

#include <stdbool.h>

/* From here on, until it is off again, nothing that is closed takes longer than 20 ms. Uses SIGALRM
 * and ITIMER_REAL of this process. */
void closing_bound(bool is_on);

/* fd_close() so bounded; returns -1. */
int closing_fd(int fd);
