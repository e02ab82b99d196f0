/* SPDX-License-Identifier: Apache-2.0 */
/* See attack.h: system calls that change what a process sees, or that reach far into the kernel. */
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

static int unshare_one(long flag)
{
	return result_of(unshare((int)flag));
}

/* The raw call: glibc's clone wants a stack. */
static int clone_one(long flag)
{
	long pid = syscall(SYS_clone, flag | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return result_of(pid);
}

static int clone3_one(long flag)
{
	struct clone_args args = {.flags = (uint64_t)flag, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &args, sizeof args);

	if (pid == 0)
		_exit(0);
	return result_of(pid);
}

static int join(void)
{
	int fd = open("/proc/self/ns/uts", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : result_of(setns(fd, CLONE_NEWUTS));
}

static int mount_bind(long flags)
{
	return result_of(mount("/tmp", "/tmp", NULL, (unsigned long)flags, NULL));
}

static int unmount(long flags)
{
	return result_of(umount2("/proc", (int)flags));
}

static int pivot(void)
{
	return result_of(syscall(SYS_pivot_root, ".", "."));
}

static int pick(void)
{
	return result_of(fspick(AT_FDCWD, "/", FSPICK_CLOEXEC));
}

static int move(void)
{
	return result_of(move_mount(AT_FDCWD, "/proc", AT_FDCWD, "/tmp", 0));
}

static int set_mount(void)
{
	struct mount_attr attributes = {.attr_clr = MOUNT_ATTR_RDONLY};

	return result_of(mount_setattr(AT_FDCWD, "/proc", 0, &attributes, sizeof attributes));
}

static int key_ring(long operation)
{
	return result_of(syscall(SYS_keyctl, operation, KEY_SPEC_SESSION_KEYRING, 1, 0, 0));
}

/* Of a type that lies where nothing is: that there is no such key is what the filter says. */
static int key_request(long ring_id)
{
	return result_of(syscall(SYS_request_key, NULL, "yett-no-such-key", NULL, ring_id));
}

/* On a terminal that is the controlling one of its user: there TIOCSTI needs no privilege, where
 * the kernel still has it. */
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
	return result_of(syscall(SYS_ioctl, slave, request, (long)(uintptr_t)&zero));
}

static int identity_uid(long uid)
{
	return result_of(setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid));
}

static int identity_gid(long gid)
{
	return result_of(setresgid((gid_t)gid, (gid_t)gid, (gid_t)gid));
}

static int identity_groups(long gid)
{
	gid_t group = (gid_t)gid;

	return result_of(setgroups(1, &group));
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
	return result_of(syscall(SYS_capset, &header, data));
}

static int bits(long value)
{
	return result_of(prctl(PR_SET_SECUREBITS, value, 0, 0, 0));
}

static int forget_no_new_privileges(void)
{
	/* it cannot be taken back, nor a filter removed: there is no call for it, only this
	 * question */
	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? -EPERM : 0;
}

static int persona(long value)
{
	return result_of(personality((unsigned long)value));
}

/* A call with arguments that fail only behind the check of privilege. */
static int call(long number)
{
	static const char nothing[] = "/yett-no-such-file";

	return result_of(number == SYS_delete_module ? syscall(number, nothing, 0)
	                                             : syscall(number, 0, 0, 0, 0, 0, 0));
}

const struct attack attack_kernel[] = {
#define ROW(text, function, value)                                            \
	{                                                                     \
		text, ATTACK_COMMAND, .run_with = function, .argument = value \
	}
#define NAMESPACE(name, flag)                                                         \
	ROW("unshare-" name, unshare_one, flag), ROW("clone-" name, clone_one, flag), \
		ROW("clone3-" name, clone3_one, flag)
	NAMESPACE("mount", CLONE_NEWNS),
	NAMESPACE("pid", CLONE_NEWPID),
	ROW("clone-network", clone_one, CLONE_NEWNET),
	ROW("clone3-network", clone3_one, CLONE_NEWNET),
	NAMESPACE("ipc", CLONE_NEWIPC),
	NAMESPACE("uts", CLONE_NEWUTS),
	NAMESPACE("cgroup", CLONE_NEWCGROUP),
	ROW("clone-user", clone_one, CLONE_NEWUSER),
	ROW("unshare-time", unshare_one, CLONE_NEWTIME),
	ROW("clone3-time", clone3_one, CLONE_NEWTIME),
	ROW("unshare-several", unshare_one, CLONE_NEWNS | CLONE_NEWNET | CLONE_FS),
	{"setns", ATTACK_COMMAND, .run = join},
	ROW("mount-bind", mount_bind, MS_BIND),
	ROW("mount-propagation", mount_bind, MS_SHARED),
	ROW("umount", unmount, MNT_DETACH),
	{"pivot_root", ATTACK_COMMAND, .run = pivot},
	{"fspick", ATTACK_COMMAND, .run = pick},
	{"move_mount", ATTACK_COMMAND, .run = move},
	{"mount_setattr", ATTACK_COMMAND, .run = set_mount},
	ROW("keyctl", key_ring, KEYCTL_GET_KEYRING_ID),
	ROW("request_key", key_request, 0),
	ROW("tiocsti", terminal, TIOCSTI),
	ROW("tiocsti-high-bits", terminal, TIOCSTI | 1L << 32),
	ROW("tioclinux", terminal, TIOCLINUX),
	ROW("tiocsetd", terminal, TIOCSETD),
	ROW("setuid-root", identity_uid, 0),
	ROW("setuid-init", identity_uid, 65533),
	ROW("setgid-root", identity_gid, 0),
	ROW("setgroups", identity_groups, 0),
	ROW("setfsuid", identity_fsuid, 0),
	ROW("capset", raise_capability, CAP_CHOWN),
	ROW("securebits", bits, SECBIT_KEEP_CAPS),
	{"no-new-privileges", ATTACK_COMMAND, .run = forget_no_new_privileges},
	ROW("personality", persona, READ_IMPLIES_EXEC),
	ROW("delete_module", call, SYS_delete_module),
	ROW("init_module", call, SYS_init_module),
	{0},
};
