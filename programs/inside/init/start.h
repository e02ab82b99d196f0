/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of yett-init: reads its configuration and drops what it does not need, before it reads
 * the first byte from a client.
 *
 * Runs as init, in the payload's user namespace with CAP_SETUID, CAP_SETGID and CAP_KILL. Each
 * stage has a name. The first stage that fails is reported to the supervisor and ends init.
 */
#pragma once

#include "programs/inside/init/config.h"

#include "base/error.h"

#include <linux/filter.h>

#if defined(__x86_64__)
#define START_OWNER_CALLS 4
#else
#define START_OWNER_CALLS 2
#endif

#define START_GUARD_LENGTH  34                       /* instructions of start_guard() */
#define START_OWNERS_LENGTH (START_OWNER_CALLS + 16) /* instructions of start_owners() */

/*
 * Checks all counts and lengths of a configuration of `length` bytes. Returns 0 or -EBADMSG. Pure.
 */
_must_check_ int start_check_config(const struct init_config *config, size_t length);

/*
 * Writes filter instructions that limit what CAP_SETUID and CAP_SETGID allow. Files on shared
 * mounts are accessible only under the caller's ids (open_map() of setup/share.c). But with any
 * other id of the sandbox, a compromised init would be a different user to its commands, for
 * example the template's root. The filter therefore allows only changes to the ids of commands.
 * Commands without capabilities get the same EPERM that the kernel gives them. Place these
 * instructions behind a filter's head (base/filter_head.h). They fall through into the rest with
 * the system call number loaded. Pure.
 */
void start_guard(const struct init_config *config, struct sock_filter filter[START_GUARD_LENGTH]);

/*
 * Writes filter instructions that make chown(2) fail with EPERM for other ids. Where only one id is
 * mapped, the kernel fails with EINVAL, as for an invalid id. On a host chown(2) fails with EPERM,
 * which fakeroot and archivers expect. This is no defence: the kernel refuses the same calls. Place
 * these instructions behind those of start_guard(), under the same conditions. Pure.
 */
void start_owners(const struct init_config *config, struct sock_filter filter[START_OWNERS_LENGTH]);

/*
 * Resets all signals to SIG_DFL: ignored signals would stay ignored in commands. Call first of all,
 * because it takes one system call for each signal, and a client waits later on.
 */
void start_reset_signals(void);

/*
 * Runs the stages; the first one reads the configuration and is skipped if `has_config`. Returns 0
 * or -errno. `ret_step` is the name of the last stage that ran.
 */
_must_check_ int start_run(struct init_config *config, bool has_config, const char **ret_step);
