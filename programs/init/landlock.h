/*
 * A Landlock domain for init and all its commands: which files may be reached, and how, once more.
 *
 * The mounts of a sandbox say the same. This is a further layer, from the plan's own list, for the
 * day on which a mount, a capability or a filter is not what it should be: best effort, by what the
 * kernel offers. As init, unprivileged. landlock(7), kernel: userspace-api/landlock.rst.
 */
#pragma once

#include "programs/init/config.h"
#include "protocol/message.h"

#include "base/error.h"

/*
 * Restricts the caller, which must have set no_new_privs, for good. `ret_abi` is the version of
 * Landlock in force, as far as this code knows it; 0: none for files, because the kernel has none
 * or not enough of it, or commands may mount (nested_userns). 0 or -errno.
 */
_must_check_ int landlock_restrict(const struct init_config *config, uint32_t *ret_abi);

/*
 * Whether each path that is to be read-only lies on a mount, or a file system, that is: what a
 * domain cannot keep where rights from above it add up. 0, -EPERM when one does not, or another
 * -errno.
 */
_must_check_ int landlock_check_mounts(const struct init_config *config);

/*
 * A domain of its own for the caller, which is to become the command of this EXEC, within the one
 * of all: by its restrictions. `abi` is the version in force, at least 2. 0 or -errno; *ret_refused
 * is that of its paths which cannot be opened, if it is that.
 */
_must_check_ int landlock_restrict_command(const struct message *message, uint32_t abi,
                                           const char **ret_refused);
