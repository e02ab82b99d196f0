/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls as programs make them, one after the other: "NAME ANSWER", where the answer is ok or
 * the name of an error.
 *
 * Run outside and inside, by an ordinary user: where the answers differ, docs/differences.md says
 * why (test_calls.py). Each call is made in a process of its own, changes nothing outside of it but
 * in the current directory, and waits for nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/waiting.h"

#define FILE_NAME "calls.file"
#define DIRECTORY "calls.directory"

static char buffer[4096];
static struct rlimit limit;
static const unsigned long how[3] = {O_RDONLY, 0, 0}; /* struct open_how */
static const struct sock_fprog program = {1,
                                          &(struct sock_filter){BPF_RET | BPF_K, 0, 0, UINT_MAX}};
static const unsigned long clone_args[8] = {0, 0, 0, 0, SIGCHLD};

/* A number above the kernel's is not there on either side; those that take a descriptor get one of
 * FILE_NAME, or of a new socket. */
#define FD     (-1000L)
#define SOCKET (-1001L)
#define AT     (long)AT_FDCWD
#define P      (long)(const void *)

struct call {
	const char *name;
	long number, arguments[6];
};

static const struct call calls[] = {
	/* what a filter may take for dangerous */
	{"keyctl", SYS_keyctl, {KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0}},
	{"request_key", SYS_request_key, {P "user", P "yett-no-such-key", 0, 0}},
	{"add_key", SYS_add_key, {P "user", P "yett-calls", P "x", 1, KEY_SPEC_PROCESS_KEYRING}},
	{"io_setup", SYS_io_setup, {1, P buffer}},
	{"io_uring_setup", SYS_io_uring_setup, {1, P buffer}},
	{"openat2", SYS_openat2, {AT, P FILE_NAME, P how, sizeof how}},
	{"clone3", SYS_clone3, {P clone_args, 64}},
	{"name_to_handle_at",
         SYS_name_to_handle_at,
         {AT, P FILE_NAME, P buffer, P(buffer + 512), 0}},
	{"statmount", 457, {P buffer, P buffer, 0, 0}},
	{"listmount", 458, {P buffer, P buffer, 0, 0}},
	{"lsm_get_self_attr", 459, {0, P buffer, P buffer, 0}},
	{"lsm_set_self_attr", 460, {0, P buffer, 0, 0}},
	{"lsm_list_modules", 461, {P buffer, P buffer, 1}},
	{"file_getattr", 468, {AT, P FILE_NAME, P buffer, 24, 0}},
	{"file_setattr", 469, {AT, P FILE_NAME, P buffer, 24, 0}},
	{"open_tree", SYS_open_tree, {AT, P ".", 1}},
	{"open_tree without a copy", SYS_open_tree, {AT, P ".", 0}},
	{"open_tree_attr", 467, {AT, P ".", 1, 0, 0}},
	{"mount", SYS_mount, {P "none", P ".", P "tmpfs", 0, 0}},
	{"umount2", SYS_umount2, {P ".", 0}},
	{"pivot_root", SYS_pivot_root, {P ".", P "."}},
	{"fsopen", SYS_fsopen, {P "tmpfs", 0}},
	{"fspick", SYS_fspick, {AT, P ".", 0}},
	{"move_mount", SYS_move_mount, {AT, P ".", AT, P ".", 0}},
	{"mount_setattr", 442, {AT, P ".", 0, P buffer, 32}},
	{"chroot", SYS_chroot, {P "."}},
	{"unshare of a user namespace", SYS_unshare, {CLONE_NEWUSER}},
	{"unshare of a mount namespace", SYS_unshare, {CLONE_NEWNS}},
	{"unshare of files", SYS_unshare, {CLONE_FILES | CLONE_FS}},
	{"personality that is in force", SYS_personality, {0xffffffff}},
	{"personality without randomness", SYS_personality, {ADDR_NO_RANDOMIZE}},
	{"personality READ_IMPLIES_EXEC", SYS_personality, {READ_IMPLIES_EXEC}},
	{"personality of SVr4", SYS_personality, {PER_SVR4}},
	{"seccomp with a listener",
         SYS_seccomp,
         {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0}},
	{"seccomp GET_NOTIF_SIZES", SYS_seccomp, {SECCOMP_GET_NOTIF_SIZES, 0, P buffer}},
	{"seccomp GET_ACTION_AVAIL",
         SYS_seccomp,
         {SECCOMP_GET_ACTION_AVAIL, 0, P &(const unsigned){SECCOMP_RET_TRACE}}},
	{"bpf", SYS_bpf, {0, P buffer, 72}},
	{"perf_event_open", SYS_perf_event_open, {P buffer, 0, -1, -1, 0}},
	{"userfaultfd", SYS_userfaultfd, {1 /* UFFD_USER_MODE_ONLY */}},
	{"fanotify_init", SYS_fanotify_init, {0x200 /* FAN_REPORT_FID */, O_RDONLY}},
	{"quotactl", SYS_quotactl, {0x800007L << 8, P "/dev/null", 0, P buffer}},
	{"syslog", SYS_syslog, {10, 0, 0}},
	{"vhangup", SYS_vhangup, {0}},
	{"acct", SYS_acct, {P FILE_NAME}},
	{"swapoff", SYS_swapoff, {P FILE_NAME}},
	{"reboot", SYS_reboot, {0, 0, 0, 0}},
	{"kexec_load", SYS_kexec_load, {0, 0, 0, 0}},
	{"init_module", SYS_init_module, {P buffer, 0, P ""}},
	{"sethostname", SYS_sethostname, {P "x", 1}},
	{"clock_settime", SYS_clock_settime, {0, P buffer}},
	{"clock_adjtime that reads", SYS_clock_adjtime, {0, P buffer}},
	{"settimeofday", SYS_settimeofday, {P buffer, 0}},
#ifdef __x86_64__
	{"iopl", SYS_iopl, {3}},
	{"ioperm", SYS_ioperm, {0x80, 1, 1}},
	{"modify_ldt", SYS_modify_ldt, {0, P buffer, 16}},
	{"ustat", SYS_ustat, {1, P buffer}},
	{"sysfs", SYS_sysfs, {3}},
#endif
	/* modes and nodes */
	{"mkdirat with set-group-id", SYS_mkdirat, {AT, P "calls.made", 02775}},
	{"fchmodat of a directory with set-group-id", SYS_fchmodat, {AT, P DIRECTORY, 02775}},
	{"fchmodat of a file with set-group-id", SYS_fchmodat, {AT, P FILE_NAME, 02755}},
	{"fchmodat of a file with set-user-id", SYS_fchmodat, {AT, P FILE_NAME, 04755}},
	{"fchmodat of a file with the sticky bit", SYS_fchmodat, {AT, P FILE_NAME, 01644}},
	{"fchmod with set-group-id", SYS_fchmod, {FD, 02644}},
	{"fchmodat2", 452, {AT, P FILE_NAME, 0644, 0}},
	{"openat that makes with set-user-id",
         SYS_openat,
         {AT, P "calls.set-id", O_CREAT | O_WRONLY, 04755}},
	{"mknodat of a pipe", SYS_mknodat, {AT, P "calls.pipe", S_IFIFO | 0600, 0}},
	{"mknodat of a device", SYS_mknodat, {AT, P "calls.device", S_IFCHR | 0600, 0x103}},
	{"mknodat of a whiteout", SYS_mknodat, {AT, P "calls.whiteout", S_IFCHR | 0600, 0}},
	{"fchownat to oneself", SYS_fchownat, {AT, P FILE_NAME, -1, -1, 0}},
	{"fchownat to root", SYS_fchownat, {AT, P FILE_NAME, 0, 0, 0}},
	/* descriptors */
	{"fcntl F_SETLEASE", SYS_fcntl, {FD, F_SETLEASE, F_RDLCK}},
	{"fcntl F_GETLEASE", SYS_fcntl, {FD, F_GETLEASE}},
	{"fcntl F_NOTIFY", SYS_fcntl, {FD, F_NOTIFY, DN_MODIFY}},
	{"fcntl F_SETPIPE_SZ", SYS_fcntl, {FD, F_SETPIPE_SZ, 4096}},
	{"flock", SYS_flock, {FD, 2}},
	{"inotify_init1", SYS_inotify_init1, {0}},
	{"epoll_create1", SYS_epoll_create1, {0}},
	{"memfd_create", SYS_memfd_create, {P "x", 0}},
	{"memfd_create of huge pages", SYS_memfd_create, {P "x", MFD_HUGETLB}},
	{"copy_file_range", SYS_copy_file_range, {FD, 0, FD, 0, 0, 0}},
	{"statx", SYS_statx, {AT, P FILE_NAME, 0, 0xfff, P buffer}},
	{"getxattr", SYS_getxattr, {P FILE_NAME, P "user.none", P buffer, 8}},
	{"pidfd_open", SYS_pidfd_open, {1, 0}},
	{"pidfd_open of nobody", SYS_pidfd_open, {4000000, 0}},
	{"timerfd_create", SYS_timerfd_create, {1, 0}},
	{"signalfd4", SYS_signalfd4, {-1, P buffer, 8, 0}},
	{"socket of a family that nobody has", SYS_socket, {AF_X25, SOCK_SEQPACKET, 0}},
	{"socket AF_VSOCK", SYS_socket, {AF_VSOCK, SOCK_STREAM, 0}},
	{"socket AF_ALG", SYS_socket, {AF_ALG, SOCK_SEQPACKET, 0}},
	{"socket AF_PACKET", SYS_socket, {AF_PACKET, SOCK_RAW, 0}},
	{"socket AF_UNIX", SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0}},
	{"socket of TCP", SYS_socket, {AF_INET, SOCK_STREAM, 0}},
	{"socket of UDP", SYS_socket, {AF_INET6, SOCK_DGRAM, 0}},
	{"socket raw", SYS_socket, {AF_INET, SOCK_RAW, 1}},
	{"socket NETLINK_ROUTE", SYS_socket, {AF_NETLINK, SOCK_RAW, 0}},
	{"socket NETLINK_KOBJECT_UEVENT", SYS_socket, {AF_NETLINK, SOCK_RAW, 15}},
	{"socketpair AF_UNIX", SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0, P buffer}},
	{"setsockopt SO_ATTACH_FILTER",
         SYS_setsockopt,
         {SOCKET, SOL_SOCKET, SO_ATTACH_FILTER, P &program, sizeof program}},
	/* processes, their limits and ids */
	{"setuid to root", SYS_setuid, {0}},
	{"setgroups", SYS_setgroups, {0, 0}},
	{"capget", SYS_capget, {P buffer, 0}},
	{"setpriority that is nicer", SYS_setpriority, {0, 0, 5}},
	{"setpriority that is less nice", SYS_setpriority, {0, 0, -5}},
	{"sched_setscheduler of real time",
         SYS_sched_setscheduler,
         {0, SCHED_FIFO, P &(const int){1}}},
	{"sched_setaffinity", SYS_sched_setaffinity, {0, 8, P &(const unsigned long){1}}},
	{"ioprio_set", SYS_ioprio_set, {1, 0, 3L << 13}},
	{"prlimit64 of core files", SYS_prlimit64, {0, RLIMIT_CORE, P &limit, 0}},
	{"prlimit64 of init", SYS_prlimit64, {1, RLIMIT_NOFILE, 0, P buffer}},
	{"kcmp", SYS_kcmp, {1, 1, 0, 0, 0}},
	{"ptrace of init", SYS_ptrace, {16, 1, 0, 0}},
	{"process_vm_readv of init", SYS_process_vm_readv, {1, P buffer, 1, P buffer, 1, 0}},
	{"kill of init", SYS_kill, {1, 0}},
	{"prctl PR_SET_MM", SYS_prctl, {35, 1, 0, 0, 0}},
	{"prctl PR_SET_NO_NEW_PRIVS", SYS_prctl, {38, 1, 0, 0, 0}},
	{"prctl PR_CAPBSET_DROP", SYS_prctl, {24, 1, 0, 0, 0}},
	{"landlock_create_ruleset", 444, {0, 0, 1}},
	{"membarrier", SYS_membarrier, {0, 0, 0}},
	{"rseq", SYS_rseq, {0, 0, 0, 0}},
	/* memory and queues */
	{"mlock", SYS_mlock, {P buffer, sizeof buffer}},
	{"mlockall", SYS_mlockall, {1}},
	{"prctl PR_SET_MEMORY_MERGE", SYS_prctl, {67, 1, 0, 0, 0}},
	{"mbind", SYS_mbind, {0, 0, 0, 0, 0, 0}},
	{"migrate_pages", SYS_migrate_pages, {0, 0, 0, 0}},
	{"get_mempolicy", SYS_get_mempolicy, {0, 0, 0, 0, 0}},
	{"move_pages", SYS_move_pages, {0, 0, 0, 0, 0, 0}},
	{"memfd_secret", 447, {0}},
	{"pkey_alloc", SYS_pkey_alloc, {0, 0}},
	{"shmget", SYS_shmget, {0, 4096, 0600 | 01000}},
	{"msgget", SYS_msgget, {0, 0600 | 01000}},
	{"mq_open", SYS_mq_open, {P "yett-calls", O_RDONLY, 0, 0}},
	{"a number without a call", 1000, {0}},
};

static long make(const struct call *call)
{
	long a[6];

	for (int i = 0; i < 6; i++)
		a[i] = call->arguments[i] == FD       ? open(FILE_NAME, O_RDONLY)
		       : call->arguments[i] == SOCKET ? socket(AF_UNIX, SOCK_DGRAM, 0)
		                                      : call->arguments[i];
	return syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* In a child, which a call may change for good; clone3 makes a second one, whose end is nobody's.
 */
static void run(const struct call *call)
{
	int status = 0;
	pid_t self = getpid(), pid = fork();

	if (pid == 0) {
		long r;

		(void)alarm((unsigned)waiting_deadline_ms() / 1000);
		r = make(call);
		if (getppid() != self)
			_exit(0);
		_exit(r < 0 ? errno & 0xff : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		(void)printf("%s\tnot made\n", call->name);
	else if (WIFSIGNALED(status))
		(void)printf("%s\tsignal %d\n", call->name, WTERMSIG(status));
	else
		(void)printf("%s\t%s\n", call->name,
		             WEXITSTATUS(status) ? strerrorname_np(WEXITSTATUS(status)) : "ok");
}

int main(void)
{
	static const char *const made[] = {"calls.set-id", "calls.pipe", "calls.device",
	                                   "calls.whiteout", FILE_NAME};
	int fd = open(FILE_NAME, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0 || close(fd) < 0 || mkdir(DIRECTORY, 0755) < 0)
		return 1;
	for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
		run(&calls[i]);
	for (size_t i = 0; i < sizeof made / sizeof *made; i++)
		(void)unlink(made[i]);
	(void)rmdir("calls.made");
	return rmdir(DIRECTORY) < 0;
}
