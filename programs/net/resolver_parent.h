/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resolver's parent: a process that waits for the first name to look up, and then becomes
 * yett-resolver.
 *
 * With this, the connector (yett-dialer) needs neither fork(2) nor execve(2) in its filter, and a
 * sandbox that looks up no name has no resolver. Before it becomes the resolver, it forks another
 * waiting process, which takes over when that resolver ends. Runs as the caller, without
 * capabilities.
 */
#pragma once

#include "programs/net/lookup.h"

/*
 * Forks the resolver's parent. `resolver` is the program's descriptor. `ret_sockets` are the
 * connector's ends, close-on-exec, of the sockets on which the first resolver and its successor
 * answer. Returns 0 or -errno.
 */
_must_check_ int resolver_parent_start(int resolver, int ret_sockets[LOOKUP_RESOLVERS]);
