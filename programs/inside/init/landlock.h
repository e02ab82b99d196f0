/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Landlock domains that restrict which files init and its commands can access, and how.
 *
 * The mounts of a sandbox already enforce the same. Landlock is a second layer, built from the
 * plan's own list, in case a mount, a capability or a filter is wrong. Best effort, depending on
 * the kernel. Runs as init, unprivileged. landlock(7), kernel: userspace-api/landlock.rst.
 */
#pragma once

#include "programs/inside/init/config.h"
#include "protocol/message.h"

#include "base/error.h"

/*
 * Restricts the calling process permanently. The process must have set no_new_privs. `ret_abi` is
 * the Landlock version in force, limited to the versions that this code knows. 0: files are not
 * restricted, because the kernel has no Landlock or a too old one, or because commands may mount
 * (nested_userns). Returns 0 or -errno.
 */
_must_check_ int landlock_restrict(const struct init_config *config, uint32_t *ret_abi);

/*
 * Checks that each read-only path of the configuration is on a read-only mount or file system. A
 * Landlock domain cannot enforce that where a rule for a directory above the path allows writing,
 * since rights add up. Returns 0, -EPERM when a path is writable, or another -errno.
 */
_must_check_ int landlock_check_mounts(const struct init_config *config);

/*
 * Puts the calling process, which becomes the command of this EXEC, into a further domain nested in
 * the sandbox's, with the restrictions that the EXEC requests. `abi` is the version in force, at
 * least 2. Returns 0 or -errno. If a path of the EXEC could not be opened, *ret_refused is that
 * path.
 */
_must_check_ int landlock_restrict_command(const struct message *message, uint32_t abi,
                                           const char **ret_refused);
