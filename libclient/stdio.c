/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett_stdio_check(): which descriptors a command may hold. Init makes the same check; this one
 * reports the error before anything is sent. Runs as the caller, and changes nothing.
 */
#include "libclient/yett.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/error.h"
#include "base/socket_kind.h"

#define MQUEUE_MAGIC   0x19800202
#define CONFIGFS_MAGIC 0x62656570
#define FUSECTL_MAGIC  0x65735543

/* File systems whose files are interfaces to the kernel or to other processes, not data. */
static const unsigned long pseudo_file_systems[] = {
	AAFS_MAGIC,        ANON_INODE_FS_MAGIC, AUTOFS_SUPER_MAGIC,   BINDERFS_SUPER_MAGIC,
	BINFMTFS_MAGIC,    BPF_FS_MAGIC,        CGROUP_SUPER_MAGIC,   CGROUP2_SUPER_MAGIC,
	CONFIGFS_MAGIC,    DEBUGFS_MAGIC,       DEVPTS_SUPER_MAGIC,   DMA_BUF_MAGIC,
	EFIVARFS_MAGIC,    FUSECTL_MAGIC,       MQUEUE_MAGIC,         NSFS_MAGIC,
	PROC_SUPER_MAGIC,  PSTOREFS_MAGIC,      RDTGROUP_SUPER_MAGIC, SECURITYFS_MAGIC,
	SELINUX_MAGIC,     SMACK_MAGIC,         SYSFS_MAGIC,          TRACEFS_MAGIC,
	XENFS_SUPER_MAGIC,
};

static const char *refusal(int fd, const struct stat *st)
{
	struct statfs fs;

	switch (st->st_mode & S_IFMT) {
	case S_IFIFO:
		return NULL;
	case S_IFSOCK:
		return socket_kind(fd) == SOCKET_PEER
		               ? NULL
		               : "is a socket that has no peer, or can reach others";
	case S_IFREG:
		if (fstatfs(fd, &fs) < 0)
			return "is on a file system that cannot be told";
		for (size_t i = 0; i < ARRAY_SIZE(pseudo_file_systems); i++)
			if ((unsigned long)fs.f_type == pseudo_file_systems[i])
				return "is on a pseudo file system";
		return NULL;
	case S_IFDIR:
		return "is a directory";
	case S_IFBLK:
		return "is a block device";
	case S_IFCHR:
		if (st->st_rdev == makedev(1, 3))
			return NULL;
		return isatty(fd) ? "is a terminal" : "is a device";
	default:
		return "is neither a file, a pipe nor a socket";
	}
}

int yett_stdio_check(int fd, struct yett_error *error)
{
	int flags = fcntl(fd, F_GETFL);
	const char *why;
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return error_set(error, YETT_E_INVALID_REQUEST, YETT_R_NONE,
		                 "descriptor %d is not open", fd);
	why = flags & O_PATH ? "is a path, not an open file" : refusal(fd, &st);
	if (!why)
		return 0;
	return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
	                 "descriptor %d %s, which a sandbox may not hold", fd, why);
}
