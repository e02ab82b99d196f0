/* See seccomp_table.h. No privilege, no code: each entry says for whom it is there. */
#include "programs/policy/seccomp_table.h"

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
 * Not in any group, so ENOSYS: clone3 and openat2, whose flags and mode lie in memory where a
 * filter cannot look; io_setup and its kin, whose events are counted for the whole machine
 * (fs.aio-max-nr), not by user; mbind and its kin, whose policies for ranges of a file are charged
 * to nobody; modify_ldt that writes; what no supported libc calls any more. Programs know that
 * kernels lack these, and do without.
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
	/* Changes fail as the kernel makes them fail for who holds no capability; root_inside needs
           some to succeed. */
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
	/* The kernel refuses to set the clock without CAP_SYS_TIME; reading it is free. */
	{"clock state", false, "adjtimex clock_adjtime clock_adjtime64"},
	{"System V and POSIX queues", false,
         "ipc mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 "
         "mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop semtimedop_time64 shmat shmctl shmdt "
         "shmget"},
	{"watching files", false, "inotify_add_watch inotify_init inotify_init1 inotify_rm_watch"},
	/* Processes of one sandbox only: other pids do not exist there, and other ids are refused
           by the kernel. */
	{"debuggers", false,
         "kcmp pidfd_getfd process_madvise process_mrelease process_vm_readv process_vm_writev ptrace"},
	{"memory placement", false,
         "get_mempolicy memfd_secret move_pages remap_file_pages set_mempolicy vmsplice"},
	/* The number of a file, as stat(2) tells it. What opens a file by it is refused, and takes
           CAP_DAC_READ_SEARCH over the whole machine. */
	{"handles of files", false, "name_to_handle_at"},
	/* What /proc/self/mountinfo and /proc/self/attr tell: of the caller's own mount namespace,
           and of itself. They change nothing. */
	{"mounts and labels", false, "listmount lsm_get_self_attr lsm_list_modules statmount"},
	/* The same as fchmodat, and as ioctls of the file (FS_IOC_FSGETXATTR and its pair), which
           ask for its owner. */
	{"attributes of files", false, "fchmodat2 file_getattr file_setattr"},
	/* Which file systems the kernel knows, as /proc/filesystems tells it. It loads none. */
	{"names of file systems", false, "sysfs"},
	/* The kernel refuses it without CAP_SYS_CHROOT, which root_inside may have. */
	{"roots", false, "chroot"},
};
const size_t seccomp_groups_count = ARRAY_SIZE(seccomp_groups);

/* clone3: commands are born in their cgroup (CLONE_INTO_CGROUP). The rest init needs is in the
 * strict set. */
const char seccomp_init_calls[] = "clone3";

/* programs/init/build/: openat2 below the sandbox's root; and the family of mount(2), of which the
 * calls that it does without do no more.
 */
const char seccomp_build_calls[] =
	"chroot fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree openat2 pivot_root sethostname setns "
	"umount umount2";

/*
 * nested_userns: what makes user namespaces, and with the capabilities over those the other
 * namespaces, and mounts. The kernel asks for these capabilities itself, and nobody has any over
 * the sandbox's own. No clone3, whose flags a filter cannot see: libraries do without.
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
	} /* any of them */
#define ABOVE(argument, last)            \
	{                                \
		(argument), 0, 0, (last) \
	}

#define SET_DELEGATION   1040 /* F_SETDELEG, Linux 6.19; differs from F_SETLEASE in one bit */
#define SET_MEMORY_MERGE 67   /* PR_SET_MEMORY_MERGE, Linux 6.4 */

#define NAMESPACES                                                                     \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
	 CLONE_NEWPID | CLONE_NEWNET)
/* Terminal ioctls that put input into a terminal, or load the code of a line discipline. The kernel
 * takes 32 bits. */
#define TERMINAL(request)               \
	{                               \
		"ioctl", EPERM, 1,      \
		{                       \
			LOW(1, request) \
		}                       \
	}
/* A set-id file would be a gift to an accomplice outside. The mode counts only when a file may be
 * made. */
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
 * EPERM, as from the kernel, which asks for CAP_MKNOD only after Landlock has said EACCES. A
 * whiteout (0, 0) goes with them. The two types differ in one bit.
 */
#define DEVICE(calls, mode)                                                            \
	{                                                                              \
		calls, EPERM, 1,                                                       \
		{                                                                      \
			MASKED(mode, S_IFMT & ~(S_IFCHR ^ S_IFBLK), S_IFCHR & S_IFBLK) \
		}                                                                      \
	}
/*
 * For a family, a type or a protocol that the kernel does not know it runs modprobe, as root and
 * outside of the sandbox's limits; for some other requests, too, before it asks for any privilege.
 */
/* By what is left of a family without the bit in which IPv4 and IPv6, which are had, differ. */
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
/* As a kernel that does not know them answers. */
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

/* What open_tree(2) knows besides clones and namespaces of mounts, and open(2) does, too, with
 * O_PATH. */
#define OPEN_TREE_PLAINLY (AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_SYMLINK_NOFOLLOW | O_CLOEXEC)

/* Rules of several calls stand after those of one among them: then their comparisons are made in
 * one place. */
const struct seccomp_rule seccomp_rules[] = {
	{"open_tree", 0, 1, {MASKED(2, ~(uint32_t)OPEN_TREE_PLAINLY, 0)}, SECCOMP_DEFAULT},
	/* Programs probe these and know EPERM: the kernel answers so without CAP_SYS_ADMIN and its
           like. */
	{"mount umount umount2 pivot_root setns fsopen fsconfig fsmount fspick move_mount mount_setattr open_tree open_tree_attr "
         "bpf userfaultfd io_uring_setup io_uring_enter io_uring_register "
         "init_module finit_module delete_module kexec_load kexec_file_load reboot swapon swapoff acct "
         "quotactl_fd open_by_handle_at fanotify_init fanotify_mark "
         "clock_settime clock_settime64 settimeofday stime sethostname setdomainname syslog vhangup iopl ioperm",
         EPERM},
	/*
         * perf_events: of processes that the caller names, which are of its own sandbox. Not of a
         * processor, whatever runs there, and not of a control group: the errors are those of a
         * kernel that keeps these from users, and some (kernel.perf_event_paranoid below 1) do not.
         * perf_event_open(2)
         */
	{"perf_event_open", EACCES, 1, {LOW(1, -1)}, SECCOMP_PERF},
	{"perf_event_open", EACCES, 1, {BITS(4, PERF_FLAG_PID_CGROUP)}, SECCOMP_PERF},
	{"perf_event_open", 0, .set = SECCOMP_PERF},
	{"perf_event_open", EACCES}, /* as where kernel.perf_event_paranoid is above 2 */
	{"quotactl", ENOTBLK}, /* there are no block devices. quotactl_fd(2) takes no name of one,
                                  and would reach those of shares */
	/* Key rings are not per sandbox, and asking for a key runs a program of the host's.
           keyrings(7), request_key(2) */
	{"keyctl request_key", ENOKEY},
	{"add_key", EACCES},
	/* Reads the segments of the caller's own, of which there are none: none can be made. The
           kernel takes an int. */
	{"modify_ldt", 0, 1, {LOW(0, 0)}, SECCOMP_DEFAULT},
	/* A lease or a delegation holds up whoever opens or changes the file outside. As for a file
           of somebody else's. fcntl(2) */
	{"fcntl", EACCES, 1, {MASKED(1, ~(uint32_t)(F_SETLEASE ^ SET_DELEGATION), F_SETLEASE)}},
	/* The listener of init's filter is the one that the kernel allows: as from a kernel that
           knows none. seccomp(2) */
	{"seccomp",
         EINVAL,
         2,
         {LOW(0, SECCOMP_SET_MODE_FILTER), BITS(1, SECCOMP_FILTER_FLAG_NEW_LISTENER)}},
	{"seccomp", EINVAL, 1, {LOW(0, SECCOMP_GET_NOTIF_SIZES)}},
	{"unshare", EPERM, 1, {BITS(0, CLONE_NEWTIME)}}, /* part of the exit signal in clone(2) */
	{"clone unshare", EPERM, 1, {BITS(0, NAMESPACES)}},
	/* init's limits: of another id, but where there is only one. What else asks for the id asks
           for init's capabilities, too. */
	{"prlimit64", EPERM, 2, {LOW(0, 1), ABOVE(2, 0)}},
	/*
         * It stays what it is (start_own_cores). Programs that want no core files set it to 0, and
         * some end when that fails. Who asks in the same call for what it was would read what
         * nobody has written.
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
	SET_ID_OPEN("open mq_open", 1,
                    2), /* a queue is a file of a file system that an overlay can copy from */
	SET_ID_OPEN("openat", 2, 3),
	SOCKET_REQUESTS(UINT32_MAX, 0x8940, 0x8941), /* SIOCGIFBR, SIOCSIFBR */
	/* SIOCADDDLCI, SIOCDELDLCI, SIOCGIFVLAN, SIOCSIFVLAN; with 0x20 SIOCBRADDBR, SIOCBRDELBR,
           SIOCBRADDIF, SIOCBRDELIF */
	SOCKET_REQUESTS(~(uint32_t)0x20, 0x8980, 0x8983),
	/*
         * Programs for sockets are compiled into room that is one for the machine, whatever user
         * and control group ask (bpf_jit_limit). When it is used up, no process without privilege
         * gets a filter of system calls any more: nobody else's sandbox would start.
         */
	OPTIONS(SOL_SOCKET, SO_ATTACH_FILTER, SO_ATTACH_FILTER),
	OPTIONS(SOL_SOCKET, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_EBPF),
	/* Signed segments: the program names the algorithm, and the kernel loads it. TCP_ULP: the
           kernel's own TLS. */
	OPTIONS(IPPROTO_TCP, TCP_MD5SIG, TCP_MD5SIG),
	OPTIONS(IPPROTO_TCP, TCP_ULP, TCP_MD5SIG_EXT),
	OPTIONS(IPPROTO_TCP, 38, 42), /* TCP_AO_ADD_KEY and its like, Linux 6.7 */
	/*
         * Huge pages are the machine's, set aside by its administrator, and no limit of memory
         * counts them. MAP_HUGETLB stays: the kernel would go through this program for each
         * mmap(2). memfd_create(2), shmget(2)
         */
	{"memfd_create", ENOSYS, 1, {BITS(1, MFD_HUGETLB)}},
	{"shmget", EINVAL, 1, {BITS(2, SHM_HUGETLB)}, SECCOMP_DEFAULT},
	/*
         * Pages that are merged with those of others tell what others have in memory. All of a
         * process's are not; madvise(2), which offers some, stays as mmap(2) does.
         * PR_SET_MEMORY_MERGE(2const)
         */
	{"prctl", EINVAL, 2, {LOW(0, SET_MEMORY_MERGE), ABOVE(1, 0)}},
	{"process_madvise", EINVAL, 1, {LOW(3, MADV_MERGEABLE)}, SECCOMP_DEFAULT},
	{"socketpair", 0, 1, {LOW(0, AF_UNIX)}},
	{"socketpair", EOPNOTSUPP}, /* as the kernel says, but it makes the sockets first */
	{"socket", 0, 1, {LOW(0, AF_UNIX)}}, /* loads nothing, whatever the type and the protocol */
	/* Of netlink only NETLINK_ROUTE, for the C library's own look at the interfaces. */
	{"socket", EPROTONOSUPPORT, 2, {LOW(0, AF_NETLINK), ABOVE(2, 0)}, SECCOMP_DEFAULT},
	{"socket", 0, 1, {LOW(0, AF_NETLINK)}, SECCOMP_DEFAULT},
	/* As without CAP_NET_RAW; but the kernel loads the family before it asks for that. */
	{"socket", EPERM, 1, {LOW(0, AF_PACKET)}, SECCOMP_DEFAULT},
	FAMILIES(0, AF_INET - 1),
	FAMILIES(AF_INET + 1, UINT32_MAX),
	{"socket", 0, 1, {TYPE(SOCK_RAW)}}, /* knows every protocol; takes CAP_NET_RAW */
	{"socket", ESOCKTNOSUPPORT, 1, {{1, 0xf, SOCK_RAW + 1, 0xf}}},
	{"socket", ESOCKTNOSUPPORT, 1, {TYPE(0)}},
	{"socket", 0, 1, {LOW(2, 0)}},
	PROTOCOL(IPPROTO_TCP, SOCK_STREAM),
	PROTOCOL(IPPROTO_UDP, SOCK_DGRAM),
	PROTOCOL(IPPROTO_MPTCP, SOCK_STREAM),
	PING(IPPROTO_ICMP, AF_INET),
	PING(IPPROTO_ICMPV6, AF_INET6),
	{"socket", EPROTONOSUPPORT},
	PERSONALITY(~(uint32_t)(UNAME26 | PER_LINUX32), PER_LINUX), /* any of the four: setarch */
	PERSONALITY(UINT32_MAX, ADDR_NO_RANDOMIZE), /* debuggers, reproducible builds */
	PERSONALITY(UINT32_MAX, 0xffffffff),        /* asks, changes nothing */
	{"personality", EINVAL,
         .set = SECCOMP_DEFAULT}, /* others are code of the kernel that hardly anything runs */
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
