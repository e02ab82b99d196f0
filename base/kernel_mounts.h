/* SPDX-License-Identifier: Apache-2.0 */
/* Mount system calls, for a C library that does not wrap them. Only kernel.h includes this file. */
#pragma once

#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int fsopen(const char *type, unsigned flags)
{
	return (int)syscall(SYS_fsopen, type, flags);
}

static inline int fsconfig(int fd, unsigned command, const char *key, const void *value, int aux)
{
	return (int)syscall(SYS_fsconfig, fd, command, key, value, aux);
}

static inline int fsmount(int fd, unsigned flags, unsigned attributes)
{
	return (int)syscall(SYS_fsmount, fd, flags, attributes);
}

static inline int fspick(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_fspick, dir, path, flags);
}

static inline int open_tree(int dir, const char *path, unsigned flags)
{
	return (int)syscall(SYS_open_tree, dir, path, flags);
}

static inline int move_mount(int from, const char *from_path, int to, const char *to_path,
                             unsigned flags)
{
	return (int)syscall(SYS_move_mount, from, from_path, to, to_path, flags);
}

static inline int mount_setattr(int dir, const char *path, unsigned flags,
                                struct mount_attr *attributes, size_t size)
{
	return (int)syscall(SYS_mount_setattr, dir, path, flags, attributes, size);
}
