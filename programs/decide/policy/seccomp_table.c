/* SPDX-License-Identifier: Apache-2.0 */
/* See seccomp_table.h. Data only. Each entry says why it is there. */
#include "programs/decide/policy/seccomp_table.h"

#include "base/fd.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>

#if defined(__s390x__)
#error "clone(2) has its flags in another argument there"
#endif

/*
 * Calls that are in no group fail with ENOSYS: clone3 and openat2, whose flags and mode are in
 * memory that a filter cannot read; io_setup and its family, whose events count against a limit of
 * the whole machine (fs.aio-max-nr) rather than of the user; mbind and its family, whose policies
 * for file ranges are charged to nobody; modify_ldt for writing; and calls that no supported libc
 * uses. Programs run without these, since some kernels lack them.
 */
const struct seccomp_group seccomp_groups[] = {
	{"files", true,
         "access chdir chmod chown chown32 close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 "
         "fadvise64 fadvise64_64 fallocate fchdir fchmod fchmodat fchown fchown32 fchownat fcntl fcntl64 fdatasync flock "
         "fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futimesat getcwd getdents getdents64 "
         "ioctl lchown lchown32 link linkat lseek _llseek lstat lstat64 mkdir mkdirat mknod mknodat newfstatat open "
         "openat pread64 preadv preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv rename "
         "renameat renameat2 rmdir sendfile sendfile64 splice stat stat64 statfs statfs64 statx symlink symlinkat sync "
         "sync_file_range sync_file_range2 syncfs tee truncate truncate64 umask unlink unlinkat utime utimensat "
         "utimensat_time64 utimes write writev cachestat"},
	{"extended attributes", true,
         "fgetxattr flistxattr fremovexattr fsetxattr getxattr lgetxattr listxattr llistxattr lremovexattr lsetxattr "
         "removexattr setxattr getxattrat listxattrat removexattrat setxattrat"},
	{"memory", true,
         "brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mmap2 mprotect mremap mseal msync munlock "
         "munlockall munmap pkey_alloc pkey_free pkey_mprotect map_shadow_stack"},
	{"processes and threads", true,
         "arch_prctl clone execve execveat exit exit_group fork futex futex_requeue futex_time64 futex_wait futex_waitv "
         "futex_wake get_robust_list get_thread_area getpgid getpgrp getpid getppid getsid gettid kill pidfd_open "
         "pidfd_send_signal prctl restart_syscall riscv_flush_icache rseq set_robust_list set_thread_area "
         "set_tid_address setpgid setsid tgkill tkill unshare vfork wait4 waitid waitpid"},
	/*
         * Changes of ids fail in the kernel for a process without capabilities. With
         * `identity = root` (yett.conf(5)) some must succeed.
         */
	{"identity", true,
         "capget capset getegid getegid32 geteuid geteuid32 getgid getgid32 getgroups getgroups32 getresgid getresgid32 "
         "getresuid getresuid32 getuid getuid32 setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups "
         "setgroups32 setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setuid setuid32"},
	{"signals", true,
         "pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait "
         "rt_sigtimedwait_time64 rt_tgsigqueueinfo sigaltstack signalfd signalfd4 sigreturn"},
	{"time", true,
         "alarm clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64 "
         "getitimer gettimeofday nanosleep setitimer time timer_create timer_delete timer_getoverrun timer_gettime "
         "timer_gettime64 timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime "
         "timerfd_settime64 times"},
	{"waiting for descriptors", true,
         "_newselect epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 pipe pipe2 "
         "poll ppoll ppoll_time64 pselect6 pselect6_time64 select"},
	{"sockets", true,
         "accept accept4 bind connect getpeername getsockname getsockopt listen recv recvfrom recvmmsg recvmmsg_time64 "
         "recvmsg send sendmmsg sendmsg sendto setsockopt shutdown socket socketpair"},
	{"scheduling and limits", true,
         "getcpu getpriority getrlimit getrusage ioprio_get ioprio_set prlimit64 sched_get_priority_max "
         "sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval "
         "sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield "
         "setpriority setrlimit ugetrlimit"},
	{"the machine", true, "getrandom sysinfo uname"},
	{"further sandboxing", true,
         "landlock_add_rule landlock_create_ruleset landlock_restrict_self seccomp"},
	/* Reading the clock state is harmless. Setting it needs CAP_SYS_TIME. */
	{"clock state", false, "adjtimex clock_adjtime clock_adjtime64"},
	{"System V and POSIX queues", false,
         "ipc mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 "
         "mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt "
         "shmget"},
	{"watching files", false, "inotify_add_watch inotify_init inotify_init1 inotify_rm_watch"},
	/*
         * These reach only processes of the same sandbox: other pids do not exist there, and the
         * kernel checks ids.
         */
	{"debuggers", false,
         "kcmp pidfd_getfd process_madvise process_mrelease process_vm_readv process_vm_writev ptrace"},
	{"memory placement", false,
         "get_mempolicy memfd_secret move_pages remap_file_pages set_mempolicy vmsplice"},
	/*
         * Returns the inode number, as stat(2) does. open_by_handle_at(2) is refused, and needs
         * CAP_DAC_READ_SEARCH in the initial user namespace.
         */
	{"handles of files", false, "name_to_handle_at"},
	/*
         * The same information as /proc/self/mountinfo and /proc/self/attr, about the caller's own
         * mount namespace and the caller itself. Read-only.
         */
	{"mounts and labels", false, "listmount lsm_get_self_attr lsm_list_modules statmount"},
	/*
         * The same as fchmodat and as ioctls on the file (FS_IOC_FSGETXATTR and FS_IOC_FSSETXATTR),
         * which check for the owner.
         */
	{"attributes of files", false, "fchmodat2 file_getattr file_setattr"},
	/*
         * Lists the file systems that the kernel knows, as /proc/filesystems does. Loads no module.
         */
	{"names of file systems", false, "sysfs"},
	/* Needs CAP_SYS_CHROOT, which a sandbox with `identity = root` may have. */
	{"roots", false, "chroot"},
};
const size_t seccomp_groups_count = ARRAY_SIZE(seccomp_groups);

/*
 * clone3 makes commands directly in their cgroup (CLONE_INTO_CGROUP). The other calls of init are
 * in the strict set.
 */
const char seccomp_init_calls[] = "clone3";

/*
 * For programs/inside/init/build/: openat2 for paths below the sandbox's root, and the mount(2)
 * family. The members of the family that init does not use can do no more than the others.
 */
const char seccomp_build_calls[] =
	"chroot fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree openat2 pivot_root sethostname setns "
	"umount umount2";

/*
 * nested_userns: calls that make user namespaces, and with the capabilities in those, other
 * namespaces and mounts. The kernel checks these capabilities, and no process has any in the
 * sandbox's own user namespace. clone3 is not included, because a filter cannot see its flags;
 * libraries fall back to clone.
 */
const char seccomp_nested_calls[] =
	"clone unshare setns mount umount umount2 pivot_root fsopen fsconfig fsmount fspick move_mount mount_setattr open_tree "
	"sethostname setdomainname";

#define MASKED(argument, mask, number)                                     \
	{                                                                  \
		(argument), (mask), (uint32_t)(number), (uint32_t)(number) \
	}
#define LOW(argument, number) MASKED(argument, UINT32_MAX, number)
#define BETWEEN(argument, first, last)                  \
	{                                               \
		(argument), UINT32_MAX, (first), (last) \
	}
#define BITS(argument, bits)                                \
	{                                                   \
		(argument), (uint32_t)(bits), 1, UINT32_MAX \
	} /* any of the bits */
#define ABOVE(argument, last)            \
	{                                \
		(argument), 0, 0, (last) \
	}

#define SET_DELEGATION   1040 /* F_SETDELEG, Linux 6.19; differs from F_SETLEASE in one bit */
#define SET_MEMORY_MERGE 67   /* PR_SET_MEMORY_MERGE, Linux 6.4 */

#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)
/*
 * Terminal ioctls that insert input into a terminal, or load a line discipline module. The kernel
 * takes 32 bits of the request.
 */
#define TERMINAL(request)               \
	{                               \
		"ioctl", EPERM, 1,      \
		{                       \
			LOW(1, request) \
		}                       \
	}
/*
 * Refuses to make a file set-user-id or set-group-id: an accomplice outside the sandbox could
 * execute it. The mode argument counts only if the call can create a file.
 */
#define SET_ID_BITS(mode) BITS(mode, S_ISUID | S_ISGID)
#define SET_ID(calls, mode)               \
	{                                 \
		calls, EPERM, 1,          \
		{                         \
			SET_ID_BITS(mode) \
		}                         \
	}
#define SET_ID_OPEN(calls, flags, mode)                                                      \
	{                                                                                    \
		calls, EPERM, 2,                                                             \
		{                                                                            \
			BITS(flags, O_CREAT | (O_TMPFILE & ~O_DIRECTORY)), SET_ID_BITS(mode) \
		}                                                                            \
	}
/*
 * Fails with EPERM, as in a kernel without Landlock for a caller without CAP_MKNOD; Landlock alone
 * would answer EACCES first. This also refuses overlayfs whiteouts (character device 0:0). S_IFCHR
 * and S_IFBLK differ in one bit, which the mask ignores.
 */
#define DEVICE(calls, mode)                                                            \
	{                                                                              \
		calls, EPERM, 1,                                                       \
		{                                                                      \
			MASKED(mode, S_IFMT & ~(S_IFCHR ^ S_IFBLK), S_IFCHR & S_IFBLK) \
		}                                                                      \
	}
/*
 * For a socket family, type or protocol that it does not know, the kernel runs modprobe as root,
 * outside the sandbox's limits. Some ioctls and socket options do the same before the kernel checks
 * any privilege. The rules below refuse these.
 */
/* Ignores the bit in which AF_INET and AF_INET6 differ. Both are allowed. */
#define FAMILIES(first, last)                                                       \
	{                                                                           \
		"socket", EAFNOSUPPORT, 1,                                          \
		{                                                                   \
			{                                                           \
				0, ~(uint32_t)(AF_INET ^ AF_INET6), (first), (last) \
			}                                                           \
		}                                                                   \
	}
#define TYPE(type) MASKED(1, 0xf, type)
#define PROTOCOL(protocol, type)                     \
	{                                            \
		"socket", 0, 2,                      \
		{                                    \
			LOW(2, protocol), TYPE(type) \
		}                                    \
	}
#define PING(protocol, family)                                             \
	{                                                                  \
		"socket", 0, 3,                                            \
		{                                                          \
			LOW(2, protocol), TYPE(SOCK_DGRAM), LOW(0, family) \
		}                                                          \
	}
#define SOCKET_REQUESTS(mask, first, last)                 \
	{                                                  \
		"ioctl", ENOPKG, 1,                        \
		{                                          \
			{                                  \
				1, (mask), (first), (last) \
			}                                  \
		}                                          \
	}
/* The same error as a kernel that does not know the options. */
#define OPTIONS(level, first, last)                            \
	{                                                      \
		"setsockopt", ENOPROTOOPT, 2,                  \
		{                                              \
			LOW(1, level), BETWEEN(2, first, last) \
		}                                              \
	}
#define PERSONALITY(mask, number)                                               \
	{                                                                       \
		"personality", 0, 1, {MASKED(0, mask, number)}, SECCOMP_DEFAULT \
	}

/*
 * The flags of open_tree(2) that do not clone a mount or make a mount namespace. With these it does
 * the same as open(2) with O_PATH.
 */
#define OPEN_TREE_PLAINLY (AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW | O_CLOEXEC)

/*
 * A rule for several calls comes after the rules for only one of them, so that filter.c can share
 * its comparisons.
 */
const struct seccomp_rule seccomp_rules[] = {
	{"open_tree", 0, 1, {MASKED(2, ~(uint32_t)OPEN_TREE_PLAINLY, 0)}, SECCOMP_DEFAULT},
	/*
         * Programs probe these calls and expect EPERM, as the kernel answers without CAP_SYS_ADMIN
         * and similar capabilities.
         */
	{"mount umount umount2 pivot_root setns fsopen fsconfig fsmount fspick move_mount mount_setattr open_tree open_tree_attr "
         "bpf userfaultfd io_uring_setup io_uring_enter io_uring_register "
         "init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct "
         "quotactl_fd open_by_handle_at fanotify_init fanotify_mark "
         "clock_settime clock_settime64 settimeofday stime sethostname setdomainname syslog vhangup iopl ioperm",
         EPERM},
	/*
         * perf_events: only for processes that the caller names, all of which are in its own
         * sandbox. Not for a CPU with everything that runs there, and not for a cgroup: these fail
         * as on a kernel with a restrictive kernel.perf_event_paranoid, because some kernels (with
         * a value below 1) would allow them. See perf_event_open(2).
         */
	{"perf_event_open", EACCES, 1, {LOW(1, -1)}, SECCOMP_PERF},
	{"perf_event_open", EACCES, 1, {BITS(4, PERF_FLAG_PID_CGROUP)}, SECCOMP_PERF},
	{"perf_event_open", 0, .set = SECCOMP_PERF},
	{"perf_event_open", EACCES}, /* as with kernel.perf_event_paranoid above 2 */
	/*
         * There are no block devices inside. quotactl_fd(2) needs no device name, and could reach
         * those of shares, so it is refused above.
         */
	{"quotactl", ENOTBLK},
	/*
         * Keyrings are shared with the host, and request_key(2) runs a program on the host. See
         * keyrings(7).
         */
	{"keyctl request_key", ENOKEY},
	{"add_key", EACCES},
	/*
         * Reads the caller's own LDT, which is always empty, because writing is refused. The kernel
         * takes an int.
         */
	{"modify_ldt", 0, 1, {LOW(0, 0)}, SECCOMP_DEFAULT},
	/*
         * A lease or delegation delays processes outside that open or change the file. Fails as for
         * a file of another user: fcntl(2).
         */
	{"fcntl", EACCES, 1, {MASKED(1, ~(uint32_t)(F_SETLEASE ^ SET_DELEGATION), F_SETLEASE)}},
	/*
         * The kernel allows one listener, and init's filter has it. Fails as on a kernel without
         * listeners: seccomp(2).
         */
	{"seccomp",
         EINVAL,
         2,
         {LOW(0, SECCOMP_SET_MODE_FILTER), BITS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER)}},
	{"seccomp", EINVAL, 1, {LOW(0, SECCOMP_GET_NOTIF_SIZES)}},
	/* in clone(2), this bit is part of the exit signal */
	{"unshare", EPERM, 1, {BITS(0, CLONE_NEWTIME)}},
	{"clone unshare", EPERM, 1, {BITS(0, NAMESPACES)}},
	/*
         * Protects the limits of pid 1, init. prlimit(2) compares ids, and these are equal in a
         * sandbox that has only one id. Other calls that compare ids also compare capabilities, and
         * init has some.
         */
	{"prlimit64", EPERM, 2, {LOW(0, 1), ABOVE(2, 0)}},
	/*
         * RLIMIT_CORE cannot be changed (start_own_cores()). Programs that want no core files set
         * it to 0, and some exit if that fails, so these calls pretend to succeed. A call that also
         * asks for the old value fails with EPERM: a pretended call would not write that value.
         */
	{"prlimit64", EPERM, 3, {LOW(1, RLIMIT_CORE), ABOVE(2, 0), ABOVE(3, 0)}},
	{"setrlimit", SECCOMP_PRETEND, 1, {LOW(0, RLIMIT_CORE)}},
	{"prlimit64", SECCOMP_PRETEND, 2, {LOW(1, RLIMIT_CORE), ABOVE(2, 0)}},
	TERMINAL(TIOCSTI),
	TERMINAL(TIOCLINUX),
	TERMINAL(TIOCSETD),
	DEVICE("mknod", 1),
	DEVICE("mknodat", 2),
	SET_ID("chmod fchmod creat mknod", 1),
	SET_ID("fchmodat fchmodat2 mknodat", 2),
	/* A message queue is a file, in a file system from which an overlay can copy up. */
	SET_ID_OPEN("open mq_open", 1, 2),
	SET_ID_OPEN("openat", 2, 3),
	SOCKET_REQUESTS(UINT32_MAX, 0x8940, 0x8941), /* SIOCGIFBR, SIOCSIFBR */
	/*
         * SIOCADDDLCI, SIOCDELDLCI, SIOCGIFVLAN, SIOCSIFVLAN; with 0x20: SIOCBRADDBR, SIOCBRDELBR,
         * SIOCBRADDIF, SIOCBRDELIF
         */
	SOCKET_REQUESTS(~(uint32_t)0x20, 0x8980, 0x8983),
	/*
         * Socket filters are compiled into memory that has one limit for the whole machine, for all
         * users and cgroups (bpf_jit_limit). When it is used up, no unprivileged process can load a
         * seccomp filter, so no other sandbox could start.
         */
	OPTIONS(SOL_SOCKET, SO_ATTACH_FILTER, SO_ATTACH_FILTER),
	OPTIONS(SOL_SOCKET, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_EBPF),
	/*
         * Signed TCP segments: the program names the algorithm, and the kernel loads its module.
         * TCP_ULP loads the kernel's TLS module.
         */
	OPTIONS(IPPROTO_TCP, TCP_MD5SIG, TCP_MD5SIG),
	OPTIONS(IPPROTO_TCP, TCP_ULP, TCP_MD5SIG_EXT),
	OPTIONS(IPPROTO_TCP, 38, 42), /* TCP_AO_ADD_KEY and similar, Linux 6.7 */
	/*
         * Huge pages are reserved by the administrator for the whole machine, and no memory limit
         * counts them. mmap(2) with MAP_HUGETLB stays allowed: a rule on its arguments would make
         * the kernel run this filter at every mmap(2). See memfd_create(2), shmget(2).
         */
	{"memfd_create", ENOSYS, 1, {BITS(1, MFD_HUGETLB)}},
	{"shmget", EINVAL, 1, {BITS(2, SHM_HUGETLB)}, SECCOMP_DEFAULT},
	/*
         * Merging pages with other processes reveals what these have in memory. This refuses
         * merging of all pages of a process. madvise(2), which can offer single ranges, stays
         * allowed for the same reason as mmap(2). Without root, commands inherit the setting from a
         * caller that has all its pages merged. See PR_SET_MEMORY_MERGE(2const).
         */
	{"prctl", EINVAL, 2, {LOW(0, SET_MEMORY_MERGE), ABOVE(1, 0)}},
	{"process_madvise", EINVAL, 1, {LOW(3, MADV_MERGEABLE)}, SECCOMP_DEFAULT},
	{"socketpair", 0, 1, {LOW(0, AF_UNIX)}},
	{"socketpair", EOPNOTSUPP}, /* the kernel's error, but the kernel makes the sockets first */
	{"socket", 0, 1, {LOW(0, AF_UNIX)}}, /* loads no module, for any type and protocol */
	/* Only NETLINK_ROUTE, with which the C library reads the interfaces. */
	{"socket", EPROTONOSUPPORT, 2, {LOW(0, AF_NETLINK), ABOVE(2, 0)}, SECCOMP_DEFAULT},
	{"socket", 0, 1, {LOW(0, AF_NETLINK)}, SECCOMP_DEFAULT},
	/*
         * Fails as without CAP_NET_RAW; the kernel would load the family's module before it checks
         * that.
         */
	{"socket", EPERM, 1, {LOW(0, AF_PACKET)}, SECCOMP_DEFAULT},
	FAMILIES(0, AF_INET - 1),
	FAMILIES(AF_INET + 1, UINT32_MAX),
	/* accepts any protocol without loading a module, and needs CAP_NET_RAW */
	{"socket", 0, 1, {TYPE(SOCK_RAW)}},
	{"socket", ESOCKTNOSUPPORT, 1, {{1, 0xf, SOCK_RAW + 1, 0xf}}},
	{"socket", ESOCKTNOSUPPORT, 1, {TYPE(0)}},
	{"socket", 0, 1, {LOW(2, 0)}},
	PROTOCOL(IPPROTO_TCP, SOCK_STREAM),
	PROTOCOL(IPPROTO_UDP, SOCK_DGRAM),
	PROTOCOL(IPPROTO_MPTCP, SOCK_STREAM),
	PING(IPPROTO_ICMP, AF_INET),
	PING(IPPROTO_ICMPV6, AF_INET6),
	{"socket", EPROTONOSUPPORT},
	/* all four combinations: setarch(8) */
	PERSONALITY(~(uint32_t)(UNAME26 | PER_LINUX32), PER_LINUX),
	PERSONALITY(UINT32_MAX, ADDR_NO_RANDOMIZE), /* for debuggers and reproducible builds */
	PERSONALITY(UINT32_MAX, 0xffffffff),        /* reads the personality without changing it */
	/* Other personalities use kernel code that is hardly ever run. */
	{"personality", EINVAL, .set = SECCOMP_DEFAULT},
};
const size_t seccomp_rules_count = ARRAY_SIZE(seccomp_rules);
_Static_assert(ARRAY_SIZE(seccomp_rules) <= SECCOMP_RULES_MAX,
               "a set of rules is a number of 64 bits");

const struct seccomp_newer seccomp_newer[] = {
	{"cachestat", 451},         {"fchmodat2", 452},        {"map_shadow_stack", 453},
	{"futex_wake", 454},        {"futex_wait", 455},       {"futex_requeue", 456},
	{"statmount", 457},         {"listmount", 458},        {"lsm_get_self_attr", 459},
	{"lsm_set_self_attr", 460}, {"lsm_list_modules", 461}, {"mseal", 462},
	{"setxattrat", 463},        {"getxattrat", 464},       {"listxattrat", 465},
	{"removexattrat", 466},     {"open_tree_attr", 467},   {"file_getattr", 468},
	{"file_setattr", 469},
};
const size_t seccomp_newer_count = ARRAY_SIZE(seccomp_newer);
