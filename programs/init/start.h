/*
 * The start of yett-init: its configuration, and giving up what it does not need, before the first
 * byte of a client.
 *
 * As init, in the payload's user namespace with CAP_SETUID, CAP_SETGID and CAP_KILL. Each stage is
 * named; the first one that fails is reported to the supervisor and ends init.
 */
#pragma once

#include "programs/init/config.h"

#include "base/error.h"

#include <linux/filter.h>

#if defined(__x86_64__)
#define START_OWNER_CALLS 4
#else
#define START_OWNER_CALLS 2
#endif

#define START_GUARD_LENGTH  34                       /* instructions of start_guard() */
#define START_OWNERS_LENGTH (START_OWNER_CALLS + 16) /* of start_owners() */

/* Checks every count and length of a configuration of `length` bytes. 0 or -EBADMSG. Pure. */
_must_check_ int start_check_config(const struct init_config *config, size_t length);

/*
 * What bounds CAP_SETUID and CAP_SETGID. Only the caller's ids own anything on what is shared
 * (open_map() of setup/share.c), but with any other id of the sandbox a captured init would be
 * somebody else to its commands, root of the template among them. A filter judges by value what the
 * capabilities leave open; to commands, which have none, it says what the kernel says. It stands
 * behind a filter's head (base/filter_head.h), and falls through into the rest with the number
 * loaded. Pure.
 */
void start_guard(const struct init_config *config, struct sock_filter filter[START_GUARD_LENGTH]);

/*
 * Where there is one id, files cannot be given to any other, and chown(2) fails with EINVAL, as if
 * the others were none. On a host it fails with EPERM, which is what fakeroot and archivers expect,
 * and so it does behind this. No defence: what is refused here the kernel refuses, too. As
 * start_guard() stands, and behind it. Pure.
 */
void start_owners(const struct init_config *config, struct sock_filter filter[START_OWNERS_LENGTH]);

/* Ignored signals would stay ignored in commands. First of all: it takes a call for each, and later
 * somebody waits. */
void start_reset_signals(void);

/* Reads the configuration, unless `has_config`, and runs the stages. 0 or -errno, with the stage's
 * name in `ret_step`. */
_must_check_ int start_run(struct init_config *config, bool has_config, const char **ret_step);
