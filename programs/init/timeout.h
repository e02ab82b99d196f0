/*
 * How long a command may run: what it asks for, within what the policy says, which the plan has
 * told init.
 *
 * Pure. In init, so that it binds whoever has a channel; a command that has taken init over is
 * bound by the sandbox's own limits alone.
 */
#pragma once

#include "programs/init/config.h"

#include "base/error.h"

/* YETT_E_PERMISSION_DENIED, with the rule, of one that asks for more than there is. */
_must_check_ int timeout_check(const struct init_config *config, const struct message_exec *exec,
                               struct yett_error *error);

/* What it has, in milliseconds; 0: no bound. A file operation, which is the library's own, has the
 * most. */
uint64_t timeout_of(const struct init_config *config, const struct message_exec *exec);
