/*
 * What anybody can tell of this machine: from the kernel, and from files that everybody may read.
 * For who tells people or programs what can be had here; nothing is decided by it.
 *
 * With the caller's privilege.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The first bytes of a file as text, cut to fit; false when it cannot be read, and errno says why.
 */
bool machine_read(const char *path, char *out, size_t size);

/* Whether `word` stands in `text`, between spaces, commas, tabs or line ends. */
bool machine_has_word(const char *text, const char *word);

/* Whether a cgroup v2 tree is mounted where hosts have it. cgroups(7) */
bool machine_has_cgroup2(void);

/* Where a controller ("memory") sits: 2, 1, or 0 for nowhere. */
int machine_controller(const char *name);

enum machine_lsm { MACHINE_LSM_NONE, MACHINE_LSM_APPARMOR, MACHINE_LSM_SELINUX };

/* Which module of the kernel gives labels. `ret_enforces`: it also holds by them. */
enum machine_lsm machine_lsm(bool *ret_enforces);
