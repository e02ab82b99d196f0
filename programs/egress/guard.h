/*
 * What the sockets of a sandbox's network are kept from, in the front and in the dialer: besides their own filters, and before them.
 *
 * A socket that was connected is to go to no second place, and to signal nobody. Both processes hold such, and either may be captured.
 */
#pragma once

#include "base/fd.h"

#include <stdbool.h>

/*
 * From here on the kernel kills the process for data that connects (MSG_FASTOPEN), and for what has a descriptor send signals (F_SETOWN and
 * its like, O_ASYNC). After no_new_privs. seccomp(2), fcntl(2), tcp(7)
 */
_must_check_ bool guard_enter(void);
