/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeout of a command: the one that the command requests, within the policy's limit, which the
 * plan carries.
 *
 * Pure. init enforces the timeout, so that it binds all clients that have a channel. If a command
 * compromises init, only the sandbox's own limits still apply to that command.
 */
#pragma once

#include "programs/inside/init/config.h"

#include "base/error.h"

/*
 * Returns 0, or YETT_E_PERMISSION_DENIED with the policy rule if the command requests more than the
 * maximum.
 */
_must_check_ int timeout_check(const struct init_config *config, const struct message_exec *exec,
                               struct yett_error *error);

/*
 * The timeout in milliseconds; 0: none. A file operation, which the library starts, gets the
 * maximum by default.
 */
uint64_t timeout_of(const struct init_config *config, const struct message_exec *exec);
