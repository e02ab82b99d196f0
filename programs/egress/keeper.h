/*
 * The keeper: a process that waits for the first name, and becomes yett-resolver then.
 *
 * So the dialer, whose filter knows neither fork(2) nor execve(2), needs neither; and a sandbox
 * that looks no name up has no resolver. Before it becomes one it leaves another keeper behind, for
 * when that one ends. As the caller, without capabilities.
 */
#pragma once

#include "programs/egress/lookup.h"

/* Forks it. `resolver` is the program. `sockets` are our ends of those that it and its heir will
 * answer on, close-on-exec. 0 or -errno. */
_must_check_ int keeper_start(int resolver, int ret_sockets[LOOKUP_RESOLVERS]);
