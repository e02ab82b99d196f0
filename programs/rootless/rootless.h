/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of yett-rootless, an ordinary user's own helper, that replace root's privilege: it
 * enters a user namespace, and builds sandboxes in it as root does elsewhere.
 *
 * Runs with the caller's privilege, for the caller alone. It becomes root only of one user
 * namespace, which has the caller's own ids, and only over mounts that nobody else sees.
 * user_namespaces(7), mount_namespaces(7)
 */
#pragma once

#include "base/error.h"
#include "helper/setup/idmap.h"

#include <stdbool.h>

/*
 * Enters a user namespace, in which the caller's uid and gid keep their numbers and this process
 * has all capabilities, and a mount namespace of that user namespace. The process must have only
 * one thread. Returns 0, or UNSUPPORTED: the message says what forbids this, and the detail what
 * helps.
 */
_must_check_ int rootless_enter(struct yett_error *error);

#define ROOTLESS_PATH_SIZE 512

/*
 * Writes the directory for the caller's sandboxes: below /run/user/UID, which login makes;
 * otherwise /tmp/yett-UID; or, if somebody else made that one, $HOME/.local/state/yett/run.
 */
void rootless_runtime_dir(char path[static ROOTLESS_PATH_SIZE]);

/*
 * Opens the cgroup v2 group of the caller's service manager (user@UID.service), which systemd
 * delegates to the user. Returns a descriptor, or -1 if this process is not below that group, as in
 * a login over ssh. user@.service(5)
 */
int rootless_open_cgroup(void);

/*
 * Whether the host uses SELinux: then sandboxes get no label, because only root can set up SELinux
 * labels for them. AppArmor labels need no root.
 */
bool rootless_misses_label(void);

/*
 * Whether the hard limit for core files is 0, and so cannot be raised: then crashes of commands
 * reach the host's core dump handler. core(5)
 */
bool rootless_leaves_cores(void);

/*
 * Opens the client's file again in this process's mount namespace: mounts behind the client's
 * descriptors, which belong to another mount namespace, cannot be cloned here. Opens the path that
 * /proc has for the descriptor, and compares device and inode. A false path deceives only the
 * client itself, which could open the file anyway. Returns a descriptor or -errno (-ESTALE if it is
 * another file).
 */
_must_check_ int rootless_reopen(int fd);

/*
 * Makes the id mapping of a helper without privilege: only the caller's user and group, onto
 * themselves, as the kernel allows for everybody. init gets the caller's ids, too. Pure.
 */
void rootless_make_map(const struct idmap_subject *subject, struct idmap *ret_map);
