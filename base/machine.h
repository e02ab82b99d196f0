/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts about this host that any user can read, from the kernel and from world-readable files.
 *
 * For programs that report what the host supports. No decision about security may use them. Runs
 * with the privilege of the caller.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads the first `size` - 1 bytes of a file into `out`, and appends a NUL. False if the file
 * cannot be opened, with the reason in errno.
 */
bool machine_read(const char *path, char *out, size_t size);

/* Whether `text`, a list separated by spaces, commas, tabs or line ends, contains `word`. */
bool machine_has_word(const char *text, const char *word);

/* Whether a cgroup v2 tree is mounted at one of the usual places. cgroups(7) */
bool machine_has_cgroup2(void);

/* The cgroup version, 2 or 1, that has the controller `name` ("memory"); 0: neither has it. */
int machine_controller(const char *name);

enum machine_lsm { MACHINE_LSM_NONE, MACHINE_LSM_APPARMOR, MACHINE_LSM_SELINUX };

/*
 * The LSM of this host that can label sandboxes. `*ret_enforces` is false only if that is SELinux
 * in permissive mode.
 */
enum machine_lsm machine_lsm(bool *ret_enforces);
