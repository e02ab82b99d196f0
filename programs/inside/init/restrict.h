/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restricts a single command further than the sandbox restricts all commands: no writing, no
 * network, or access to some paths only.
 *
 * Uses Landlock, and a seccomp filter for what Landlock does not cover: modes, owners, timestamps,
 * attributes and sockets. A restriction that the kernel cannot enforce is refused before the
 * command starts. Runs as init, or as the child that becomes the command; unprivileged.
 * landlock(7), seccomp(2).
 */
#pragma once

#include "programs/inside/init/config.h"
#include "protocol/message.h"

#include "base/error.h"

/*
 * Whether the user and the restrictions of an EXEC are possible here. Returns 0,
 * YETT_E_INVALID_REQUEST, or YETT_E_UNSUPPORTED with what is missing. Calls getuid(), otherwise
 * pure.
 */
_must_check_ int restrict_check(const struct init_config *config, const struct message *message,
                                struct yett_error *error);

/*
 * Enters a Landlock domain nested in the sandbox's. Call with the command's own id. Returns 0 or
 * -errno. If a path of the EXEC could not be opened, *ret_refused is that path.
 */
_must_check_ int restrict_files(const struct init_config *config, const struct message *message,
                                const char **ret_refused);

/* Installs the seccomp filter for the restrictions. Returns 0 or -errno. */
_must_check_ int restrict_calls(const struct init_config *config, const struct message *message);
