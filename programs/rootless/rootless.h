/*
 * yett-rootless, an ordinary user's own helper: a user namespace first, in which it then builds as
 * root does elsewhere.
 *
 * With the caller's privilege and nothing more, on behalf of the caller alone. What it makes of
 * itself is root of one user namespace that holds the caller's own ids, and of mounts that only it
 * sees. user_namespaces(7), mount_namespaces(7).
 */
#pragma once

#include "helper/setup/idmap.h"

#include "base/error.h"

#include <stdbool.h>

/*
 * Enters a user namespace in which the caller's uid and gid are what they are, with all
 * capabilities over it, and a mount namespace that goes with it. The process must have one thread.
 * 0, or UNSUPPORTED with what forbids it in the message, and the mend in the detail.
 */
_must_check_ int rootless_enter(struct yett_error *error);

#define ROOTLESS_PATH_SIZE 512

/*
 * Where the caller's own sandboxes are kept: below /run/user/UID, which login makes, else in
 * /tmp/yett-UID, or, where somebody else has made that, in $HOME/.local/state/yett/run.
 */
void rootless_runtime_dir(char path[static ROOTLESS_PATH_SIZE]);

/*
 * The v2 group of the caller's own service manager (user@UID.service), of which we are below: it is
 * delegated to the user. A descriptor, or -1 where we are elsewhere, as in a login over ssh.
 * user@.service(5)
 */
int rootless_open_cgroup(void);

/* Whether the host uses SELinux, whose labels are not to be had without root; those of AppArmor
 * are. */
bool rootless_misses_label(void);

/* Whether the hard limit of core files is 0, and so stays 0: then crashes of commands reach the
 * host's handler. core(5) */
bool rootless_leaves_cores(void);

/*
 * A helper without root has a mount namespace of its own, in which no descriptor of the client's
 * can be cloned: what is there by the same name is, if it is the same file. Names that lie deceive
 * only who is served, and who could open it anyway. A descriptor or -errno.
 */
_must_check_ int rootless_reopen(int fd);

/*
 * The map of a helper without privilege: the caller's user and group onto themselves, as the kernel
 * lets anybody have it, and nobody else's. init has the caller's ids, too. Pure.
 */
void rootless_make_map(const struct idmap_subject *subject, struct idmap *ret_map);
