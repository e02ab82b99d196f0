/* SPDX-License-Identifier: Apache-2.0 */
/* See descriptor.h. Only examines descriptors: fcntl(2), fstat(2), fstatfs(2). */
#include "programs/inside/init/descriptor.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/socket_kind.h"

/*
 * Regular files on these file systems expose kernel or process internals. Magic numbers that
 * linux/magic.h may lack are given as numbers.
 */
static const uint32_t descriptor_pseudo[] = {
	PROC_SUPER_MAGIC,     SYSFS_MAGIC,        CGROUP_SUPER_MAGIC,  CGROUP2_SUPER_MAGIC,
	NSFS_MAGIC,           DEBUGFS_MAGIC,      TRACEFS_MAGIC,       SECURITYFS_MAGIC,
	SELINUX_MAGIC,        SMACK_MAGIC,        BPF_FS_MAGIC,        BINFMTFS_MAGIC,
	EFIVARFS_MAGIC,       PSTOREFS_MAGIC,     ANON_INODE_FS_MAGIC, RDTGROUP_SUPER_MAGIC,
	BINDERFS_SUPER_MAGIC, DEVPTS_SUPER_MAGIC, 0x50494446, /* pidfs */
	0x62656570,                                           /* configfs */
	0x19800202,                                           /* mqueue */
	0x65735543,                                           /* fusectl */
	0x5a3c69f0,                                           /* apparmorfs */
};

static const char *descriptor_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFDIR:
		return "a directory";
	case S_IFBLK:
		return "a block device";
	case S_IFCHR:
		return "a terminal or another device";
	case S_IFLNK:
		return "a symbolic link";
	default:
		return "a kernel object of its own"; /* epoll, eventfd, pidfd, io_uring … */
	}
}

static int descriptor_check_file(int fd, const char *name, struct yett_error *error)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return -errno;
	for (size_t i = 0; i < ARRAY_SIZE(descriptor_pseudo); i++)
		if ((uint32_t)fs.f_type == descriptor_pseudo[i])
			return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
			                 "%s is a file on a pseudo file system", name);
	return 0;
}

int descriptor_check(int fd, const char *name, struct yett_error *error)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (flags & O_PATH)
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "%s is an O_PATH handle", name);
	if (S_ISFIFO(st.st_mode) || (S_ISSOCK(st.st_mode) && socket_kind(fd) == SOCKET_PEER))
		return 0;
	if (S_ISSOCK(st.st_mode))
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "%s is a socket that has no peer, or can reach others", name);
	if (S_ISREG(st.st_mode))
		return descriptor_check_file(fd, name, error);
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
		return 0;
	return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE, "%s is %s", name,
	                 descriptor_kind(st.st_mode));
}

int descriptor_check_sealed(int fd, uint64_t bytes, const char *name, struct yett_error *error)
{
	const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	/* Only a memfd has seals. A memfd with huge pages is on hugetlbfs, not tmpfs. */
	if (seals < 0 || (seals & needed) != needed || (uint32_t)fs.f_type != TMPFS_MAGIC ||
	    !S_ISREG(st.st_mode))
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_NONE,
		                 "%s is no sealed memory", name);
	if ((uint64_t)st.st_size != bytes)
		return error_set(error, YETT_E_SECURITY_VIOLATION, YETT_R_SIZE,
		                 "%s is not of the size stated", name);
	return 0;
}
