/*
 * What one command is kept from, besides what the sandbox keeps all of them from: writing, the
 * network, all but some paths.
 *
 * Landlock, and a filter of system calls for what Landlock does not see: modes, owners, times,
 * attributes, and sockets. What the kernel cannot keep it from is refused before it starts. As
 * init, or as its child that becomes the command; unprivileged. landlock(7), seccomp(2).
 */
#pragma once

#include "programs/init/config.h"
#include "protocol/message.h"

#include "base/error.h"

/* Whether what an EXEC asks for can be had here. 0, YETT_E_INVALID_REQUEST, or YETT_E_UNSUPPORTED
 * with what is missing. Pure. */
_must_check_ int restrict_check(const struct init_config *config, const struct message *message,
                                struct yett_error *error);

/* As the command's own id: a Landlock domain within that of all. 0 or -errno; *ret_refused is the
 * path that cannot be opened, if it is that. */
_must_check_ int restrict_files(const struct init_config *config, const struct message *message,
                                const char **ret_refused);

/* The filter. 0 or -errno. */
_must_check_ int restrict_calls(const struct init_config *config, const struct message *message);
