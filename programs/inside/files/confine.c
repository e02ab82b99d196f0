/* SPDX-License-Identifier: Apache-2.0 */
/* See files.h. */
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "programs/filters/filters.h"
#include "programs/inside/files/files.h"

/* The rights that each version of Landlock added to the 13 rights of the first. */
#define RIGHTS_FIRST    (LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1)
#define RIGHT_REFER     (UINT64_C(1) << 13)
#define RIGHT_TRUNCATE  (UINT64_C(1) << 14)
#define RIGHT_IOCTL_DEV (UINT64_C(1) << 15)
#define RIGHTS_READ     (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_DEVICES \
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | RIGHT_IOCTL_DEV)

static int files_confine_files(int directory, bool writable)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_path_beneath_attr rule = {.parent_fd = directory};
	struct landlock_ruleset_attr attributes = {.handled_access_fs = RIGHTS_FIRST | RIGHT_REFER};
	_cleanup_fd_ int ruleset = -1;

	if (abi < 2)
		return 0; /* no Landlock: unpack.c keeps to the directory by itself */
	attributes.handled_access_fs |=
		(abi >= 3 ? RIGHT_TRUNCATE : 0) | (abi >= 5 ? RIGHT_IOCTL_DEV : 0);
	rule.allowed_access = writable ? attributes.handled_access_fs &
	                                         ~(RIGHTS_DEVICES | LANDLOCK_ACCESS_FS_EXECUTE)
	                               : RIGHTS_READ;
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0);
	if (ruleset < 0 ||
	    syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0 ||
	    syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return -errno;
	return 0;
}

int confine(int directory, bool writable)
{
	int r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0
	                ? -errno
	                : files_confine_files(directory, writable);

	if (r < 0)
		return r;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filters_files) < 0 ? -errno : 0;
}
