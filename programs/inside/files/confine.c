/* SPDX-License-Identifier: Apache-2.0 */
/* See files.h. */
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/filter_head.h"
#include "programs/inside/files/files.h"

/* The rights that each version of Landlock added to the 13 rights of the first. */
#define RIGHTS_FIRST    (LANDLOCK_ACCESS_FS_MAKE_SYM * 2 - 1)
#define RIGHT_REFER     (UINT64_C(1) << 13)
#define RIGHT_TRUNCATE  (UINT64_C(1) << 14)
#define RIGHT_IOCTL_DEV (UINT64_C(1) << 15)
#define RIGHTS_READ     (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define RIGHTS_DEVICES \
	(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK | RIGHT_IOCTL_DEV)

/*
 * The system calls for reading and writing an archive, including those of the C library: files, the
 * pipe, the open socket, and memory. None of them starts or signals a process, or connects to
 * anything.
 */
static const uint32_t allowed[] = {
	SYS_read,         SYS_write,      SYS_pread64,        SYS_pwrite64,     SYS_readv,
	SYS_writev,       SYS_lseek,      SYS_close,          SYS_ppoll,        SYS_sendmsg,
	SYS_openat,       SYS_fstat,      SYS_newfstatat,     SYS_statx,        SYS_getdents64,
	SYS_readlinkat,   SYS_faccessat,  SYS_faccessat2,     SYS_fadvise64,    SYS_mkdirat,
	SYS_symlinkat,    SYS_linkat,     SYS_renameat,       SYS_renameat2,    SYS_unlinkat,
	SYS_ftruncate,    SYS_fchmod,     SYS_utimensat,      SYS_brk,          SYS_munmap,
	SYS_mremap,       SYS_madvise,    SYS_futex,          SYS_getrandom,    SYS_clock_gettime,
	SYS_gettimeofday, SYS_getpid,     SYS_getuid,         SYS_geteuid,      SYS_getgid,
	SYS_getegid,      SYS_umask,      SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_restart_syscall,
	SYS_exit,         SYS_exit_group,
#ifdef SYS_poll
	SYS_poll,
#endif
};

/*
 * Calls that the filter judges by the low 32 bits of one argument: EPERM if any bit of `bits` is
 * set in them, or if they are greater than `most`; otherwise the call is allowed.
 */
static const struct {
	uint32_t number;
	unsigned argument;
	uint32_t bits, most;
} judged[] = {
	{SYS_mmap, 2, PROT_EXEC, UINT32_MAX},
	{SYS_mprotect, 2, PROT_EXEC, UINT32_MAX},
	{SYS_fcntl, 1, 0, F_SETFL}, /* refuses F_SETOWN, which makes the kernel send signals */
};

static int filter(void)
{
	static struct sock_filter
		code[FILTER_HEAD + ARRAY_SIZE(judged) * 6 + ARRAY_SIZE(allowed) + 2];
	const struct sock_fprog program = {ARRAY_SIZE(code), code};
	struct sock_filter *at = code + FILTER_HEAD, *refuse = code + ARRAY_SIZE(code) - 2,
			   *allow = refuse + 1;

	filter_head(code, FILTER_ARCH, SECCOMP_RET_ERRNO | ENOSYS);
	for (size_t i = 0; i < ARRAY_SIZE(judged); i++, at += 6) {
		size_t value =
			offsetof(struct seccomp_data, args) + judged[i].argument * sizeof(uint64_t);

		at[0] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, judged[i].number, 0,
		                                     5);
		at[1] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)value);
		at[2] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, judged[i].bits, 1,
		                                     0);
		at[3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, judged[i].most, 0,
		                                     1);
		at[4] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
		at[5] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < ARRAY_SIZE(allowed); i++, at++)
		*at = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[i],
		                                   (uint8_t)(allow - at - 1), 0);
	*refuse = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	*allow = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

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

	return r == 0 ? filter() : r;
}
