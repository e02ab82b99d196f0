/* See attack.h: system calls that change what a process sees, or that reach far into the kernel. */
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>

static int unshare_one(long flag)
{
	return attack_result(unshare((int)flag));
}

/* The raw call: glibc's clone wants a stack. */
static int clone_one(long flag)
{
	long pid = syscall(SYS_clone, flag | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return attack_result(pid);
}

static int clone3_one(long flag)
{
	struct clone_args args = {.flags = (uint64_t)flag, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof args);

	if (pid == 0)
		_exit(0);
	return attack_result(pid);
}

static int join(long unused)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	(void)unused;
	return fd < 0 ? -errno : attack_result(setns(fd, CLONE_NEWUTS));
}

static int mount_tmpfs(long unused)
{
	(void)unused;
	return attack_result(mount("tmpfs", "/tmp", "tmpfs", 0, NULL));
}

static int mount_bind(long flags)
{
	return attack_result(mount("/tmp", "/tmp", NULL, (unsigned long)flags, NULL));
}

static int unmount(long flags)
{
	return attack_result(umount2("/proc", (int)flags));
}

static int pivot(long unused)
{
	(void)unused;
	return attack_result(syscall(SYS_pivot_root, ".", "."));
}

static int change_root(long unused)
{
	(void)unused;
	return attack_result(chroot("/tmp"));
}

static int fs_context(long unused)
{
	(void)unused;
	return attack_result(fsopen("tmpfs", FSOPEN_CLOEXEC));
}

static int pick(long unused)
{
	(void)unused;
	return attack_result(fspick(AT_FDCWD, "/", FSPICK_CLOEXEC));
}

static int clone_tree(long unused)
{
	(void)unused;
	return attack_result(open_tree(AT_FDCWD, "/tmp", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

static int move(long unused)
{
	(void)unused;
	return attack_result(move_mount(AT_FDCWD, "/proc", AT_FDCWD, "/tmp", 0));
}

static int set_mount(long unused)
{
	struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};

	(void)unused;
	return attack_result(mount_setattr(AT_FDCWD, "/proc", 0, &attributes, sizeof attributes));
}

static int map_create(long unused)
{
	union bpf_attr attributes = {.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};

	(void)unused;
	return attack_result(syscall(SYS_bpf, BPF_MAP_CREATE, &attributes, sizeof attributes));
}

static int perf(long unused)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_CPU_CLOCK};

	(void)unused;
	return attack_result(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

static int fault_descriptor(long unused)
{
	(void)unused;
	return attack_result(syscall(SYS_userfaultfd, O_CLOEXEC));
}

static int ring(long entries)
{
	char parameters[120] = {0};

	return attack_result(syscall(SYS_io_uring_setup, entries, parameters));
}

static int key_ring(long operation)
{
	return attack_result(syscall(SYS_keyctl, operation, KEY_SPEC_SESSION_KEYRING, 1, 0, 0));
}

static int key_add(long ring_id)
{
	return attack_result(syscall(SYS_add_key, "user", "yett-attack", "x", 1, ring_id));
}

static int key_request(long ring_id)
{
	return attack_result(syscall(SYS_request_key, "user", "yett-no-such-key", NULL, ring_id));
}

/* On a terminal that is the controlling one of its user: there TIOCSTI needs no privilege, where the kernel still has it. */
static int terminal(long request)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave, zero = 0;

	(void)setsid();
	if (master < 0 || unlockpt(master) < 0)
		return -errno;
	slave = open(ptsname(master), O_RDWR | O_CLOEXEC);
	if (slave < 0)
		return -errno;
	/* all 64 bits: the kernel looks at 32 of them, and so must a filter */
	return attack_result(syscall(SYS_ioctl, slave, request, (long)(uintptr_t)&zero));
}

static int identity_uid(long uid)
{
	return attack_result(setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid));
}

static int identity_gid(long gid)
{
	return attack_result(setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid));
}

static int identity_groups(long gid)
{
	gid_t group = (gid_t)gid;

	return attack_result(setgroups(1, &group));
}

/* setfsuid(2) tells no failure. */
static int identity_fsuid(long uid)
{
	(void)setfsuid((uid_t)uid);
	return setfsuid((uid_t)uid) == (int)uid ? 0 : -EPERM;
}

static int raise_capability(long capability)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	data[0].permitted |= 1U << capability;
	data[0].effective |= 1U << capability;
	return attack_result(syscall(SYS_capset, &header, data));
}

static int bits(long value)
{
	return attack_result(prctl(PR_SET_SECUREBITS, value, 0, 0, 0));
}

static int forget_no_new_privileges(long unused)
{
	(void)unused;
	/* it cannot be taken back, nor a filter removed: there is no call for it, only this question */
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -EPERM : 0;
}

static int persona(long value)
{
	return attack_result(personality((unsigned long)value));
}

static int host_name(long unused)
{
	(void)unused;
	return attack_result(sethostname("attack", 6));
}

static int clock_set(long clock)
{
	return attack_result(syscall(SYS_clock_settime, clock, NULL));
}

static int nice_down(long value)
{
	return attack_result(setpriority(PRIO_PROCESS, 0, (int)value));
}

static int real_time(long policy)
{
	return attack_result(sched_setscheduler(0, (int)policy, &(struct sched_param){.sched_priority = 1}));
}

/* A call with arguments that fail only behind the check of privilege. */
static int call(long number)
{
	static const char nothing[] = "/yett-no-such-file";

	switch (number) {
	case SYS_reboot:
		return attack_result(syscall(number, 0, 0, 0, NULL));
	case SYS_delete_module:
	case SYS_swapon:
	case SYS_swapoff:
	case SYS_acct:
		return attack_result(syscall(number, nothing, 0));
	case SYS_syslog:
		return attack_result(syscall(number, 10 /* SYSLOG_ACTION_SIZE_BUFFER */, NULL, 0));
	default:
		return attack_result(syscall(number, 0, 0, 0, 0, 0, 0));
	}
}

const struct attack attack_kernel[] = {
#define NAMESPACE(name, flag) {"unshare-" name, unshare_one, flag}, {"clone-" name, clone_one, flag}, {"clone3-" name, clone3_one, flag}
	NAMESPACE("mount", CLONE_NEWNS),
	NAMESPACE("pid", CLONE_NEWPID),
	NAMESPACE("network", CLONE_NEWNET),
	NAMESPACE("ipc", CLONE_NEWIPC),
	NAMESPACE("uts", CLONE_NEWUTS),
	NAMESPACE("cgroup", CLONE_NEWCGROUP),
	NAMESPACE("user", CLONE_NEWUSER),
	{"unshare-time", unshare_one, CLONE_NEWTIME},
	{"clone3-time", clone3_one, CLONE_NEWTIME},
	{"unshare-several", unshare_one, CLONE_NEWNS | CLONE_NEWNET | CLONE_FS},
	{"setns", join, 0},
	{"mount-tmpfs", mount_tmpfs, 0},
	{"mount-bind", mount_bind, MS_BIND},
	{"mount-propagation", mount_bind, MS_SHARED},
	{"umount", unmount, MNT_DETACH},
	{"pivot_root", pivot, 0},
	{"chroot", change_root, 0},
	{"fsopen", fs_context, 0},
	{"fspick", pick, 0},
	{"open_tree", clone_tree, 0},
	{"move_mount", move, 0},
	{"mount_setattr", set_mount, 0},
	{"bpf", map_create, 0},
	{"perf_event_open", perf, 0},
	{"userfaultfd", fault_descriptor, 0},
	{"io_uring_setup", ring, 4},
	{"keyctl", key_ring, KEYCTL_GET_KEYRING_ID},
	{"add_key", key_add, KEY_SPEC_PROCESS_KEYRING},
	{"request_key", key_request, 0},
	{"tiocsti", terminal, TIOCSTI},
	{"tiocsti-high-bits", terminal, TIOCSTI | 1L << 32},
	{"tioclinux", terminal, TIOCLINUX},
	{"tiocsetd", terminal, TIOCSETD},
	{"setuid-root", identity_uid, 0},
	{"setuid-init", identity_uid, 65533},
	{"setgid-root", identity_gid, 0},
	{"setgroups", identity_groups, 0},
	{"setfsuid", identity_fsuid, 0},
	{"capset", raise_capability, CAP_CHOWN},
	{"securebits", bits, SECBIT_KEEP_CAPS},
	{"no-new-privileges", forget_no_new_privileges, 0},
	{"personality", persona, READ_IMPLIES_EXEC},
	{"sethostname", host_name, 0},
	{"clock_settime", clock_set, CLOCK_REALTIME},
	{"nice", nice_down, -5},
	{"real-time", real_time, SCHED_FIFO},
	{"reboot", call, SYS_reboot},
	{"delete_module", call, SYS_delete_module},
	{"init_module", call, SYS_init_module},
	{"finit_module", call, SYS_finit_module},
	{"swapon", call, SYS_swapon},
	{"acct", call, SYS_acct},
	{"syslog", call, SYS_syslog},
	{"fanotify_init", call, SYS_fanotify_init},
	{0},
};
