/*
 * What catches the connections of a sandbox where nobody may have the kernel send them to one place: a listener for each port.
 *
 * With the capabilities of the helper's user namespace, in a child that was just forked; nothing of a client's is looked at.
 */
#pragma once

#include "helper/setup/making.h"

/*
 * For the process that becomes a front, in the sandbox's network namespace. Enters a network namespace of its own, which a wire joins to
 * the sandbox's, and to which all goes that leaves that one. There each address is a local one, as inside, and what is bound takes no port
 * from the sandbox's own servers, nor can anyone in it bind the same. Then makes a listener for each port that `rules` are about, sealed
 * memory of the decider's, and for port 53. How many they are; -EPIPE with the reason in the shared error, or -errno. veth(4)
 */
_must_check_ int ports_listen(const struct setup *setup, int rules, int ret_sockets[static CATCH_PORTS_MAX]);
