/* SPDX-License-Identifier: Apache-2.0 */
/* See attack.h: system calls that change what a process sees, or that reach far into the kernel. */
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/fanotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <time.h>
#if defined(__x86_64__)
#include <sys/io.h>
#endif

/* Mounts on the shared directory's "mount"; a file named "seen" below it then tells that it really
 * is there. */
static int try_mount(const char *source, const char *type, unsigned long flags, const char *seen)
{
	const char *target = shared("mount");
	int r = result_of(mount(source, target, type, flags, NULL));
	char path[4096];

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof path, "%s/%s", target, seen);
	r = result_of(access(path, F_OK));
	(void)umount2(target, MNT_DETACH);
	return r;
}

static int mount_tmpfs(void)
{
	return try_mount("tmpfs", "tmpfs", 0, ".");
}

static int mount_host_directory(void)
{
	return try_mount(given("ATTACK_OUTSIDE"), NULL, MS_BIND, "secret");
}

static int mount_disk(void)
{
	return try_mount(given("ATTACK_DISK"), given("ATTACK_DISK_TYPE"), 0, "etc");
}

/* With the flags that it should have anyway. */
static int remount_proc(void)
{
	return result_of(mount(NULL, "/proc", NULL,
	                       MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
}

static int clone_tree(void)
{
	_cleanup_fd_ int tree =
		open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	return result_of(tree);
}

static int new_superblock(void)
{
	_cleanup_fd_ int context = fsopen("tmpfs", FSOPEN_CLOEXEC), made = -1;

	if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	made = fsmount(context, FSMOUNT_CLOEXEC, 0);
	return result_of(made);
}

static int change_root(void)
{
	return result_of(chroot(given("ATTACK_DIR")));
}

static int user_namespace(void)
{
	return result_of(unshare(CLONE_NEWUSER));
}

static int user_namespace_by_clone(void)
{
	struct clone_args arguments = {.flags = CLONE_NEWUSER, .exit_signal = SIGCHLD};
	long pid = syscall(SYS_clone3, &arguments, sizeof arguments);

	if (pid == 0)
		_exit(0);
	return result_of(pid);
}

static int network_namespace(void)
{
	return result_of(unshare(CLONE_NEWNET));
}

static int load_bpf(void)
{
	static const struct bpf_insn program[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K},
	                                          {.code = BPF_JMP | BPF_EXIT}};
	union bpf_attr attributes = {.prog_type = BPF_PROG_TYPE_TRACEPOINT,
	                             .insns = (uintptr_t)program,
	                             .insn_cnt = ARRAY_SIZE(program),
	                             .license = (uintptr_t) "GPL"};
	_cleanup_fd_ int fd = (int)syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes);

	return result_of(fd);
}

/* Of every process on a processor. */
static int watch_processor(void)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
	                                     .size = sizeof attributes,
	                                     .config = PERF_COUNT_SW_CPU_CLOCK};
	_cleanup_fd_ int fd = (int)syscall(SYS_perf_event_open, &attributes, -1, 0, -1, 0);

	return result_of(fd);
}

static int user_faults(void)
{
	_cleanup_fd_ int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	return result_of(fd);
}

static int ring(void)
{
	char parameters[120] = {0};
	_cleanup_fd_ int fd = (int)syscall(SYS_io_uring_setup, 4, parameters);

	return result_of(fd);
}

/* The ring of the id, which every process of that id on the host has. */
static int leave_key(void)
{
	long key = syscall(SYS_add_key, "user", "yett-attack", "x", 1, KEY_SPEC_USER_KEYRING);
	int r = result_of(key);

	if (r == 0)
		(void)syscall(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_USER_KEYRING, 0, 0);
	return r;
}

static int load_module(void)
{
	_cleanup_fd_ int fd =
		may_harm() ? open(given("ATTACK_MODULE"), O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
	int r = fd < 0 ? -errno : result_of(syscall(SYS_finit_module, fd, "", 0));

	if (r == 0)
		(void)syscall(SYS_delete_module, given("ATTACK_MODULE_NAME"), O_NONBLOCK);
	return r;
}

/* None: that takes away what might be there. */
static int load_kernel(void)
{
	return result_of(syscall(SYS_kexec_load, 0, 0, NULL, 0));
}

static const char nothing[] = "/yett-no-such-file";

/* The first command turns Ctrl-Alt-Del into a signal to PID 1, which it is on any system with
 * systemd. */
static int steer_reboot(void)
{
	return result_of(syscall(SYS_reboot, may_harm() ? LINUX_REBOOT_MAGIC1 : 0,
	                         LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_CAD_OFF, NULL));
}

static int swap_on(void)
{
	const char *path = may_harm() ? shared("swap") : nothing;
	int r = result_of(swapon(path, 0));

	if (r == 0)
		(void)swapoff(path);
	return r;
}

static int accounting(void)
{
	const char *path = may_harm() ? own_file("accounts") : nothing;
	int r = path ? result_of(acct(path)) : -errno;

	if (r == 0)
		(void)acct(NULL);
	(void)unlink(shared("accounts"));
	return r;
}

static int host_name(void)
{
	char before[65] = "";
	int r = result_of(gethostname(before, sizeof before - 1));

	if (r == 0)
		r = result_of(sethostname("yett-attack", 11));
	return r == 0 ? result_of(sethostname(before, strlen(before))) : r;
}

static int set_clock(void)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) < 0
	               ? -errno
	               : result_of(syscall(SYS_clock_settime, CLOCK_REALTIME,
	                                   may_harm() ? &now : NULL));
}

/* Not of glibc: what a filter says has to come through. */
static int ports(void)
{
#if defined(__x86_64__)
	return result_of(syscall(SYS_ioperm, 0x80, 1, 1));
#else
	return -ENOSYS;
#endif
}

/* Every opening of a file on the file system of the root, with the right to refuse it. */
static int watch_files(void)
{
	_cleanup_fd_ int fd =
		fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC | FAN_NONBLOCK, O_RDONLY | O_CLOEXEC);

	return fd < 0 || !may_harm()
	               ? result_of(fd)
	               : result_of(fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_CLOSE,
	                                         AT_FDCWD, "/"));
}

const struct attack attack_machine[] = {
	{"mount-tmpfs", ATTACK_COMMAND | ATTACK_LAYER, true, .run = mount_tmpfs},
	{"mount-host-directory", ATTACK_LAYER, true, .run = mount_host_directory},
	{"mount-disk", ATTACK_LAYER, true, .run = mount_disk},
	{"remount", ATTACK_LAYER, true, .run = remount_proc},
	{"mount-tree-cloned", ATTACK_COMMAND | ATTACK_LAYER, false, .run = clone_tree},
	{"superblock", ATTACK_COMMAND | ATTACK_LAYER, false, .run = new_superblock},
	{"root-changed", ATTACK_COMMAND | ATTACK_LAYER, false, .run = change_root},
	{"user-namespace", ATTACK_COMMAND | ATTACK_LAYER, false, .run = user_namespace},
	{"user-namespace-clone3", ATTACK_COMMAND | ATTACK_LAYER, false,
         .run = user_namespace_by_clone},
	{"network-namespace", ATTACK_COMMAND | ATTACK_LAYER, false, .run = network_namespace},
	{"bpf", ATTACK_COMMAND | ATTACK_LAYER, false, .run = load_bpf},
	{"perf", ATTACK_COMMAND | ATTACK_LAYER, false, .run = watch_processor},
	{"userfaultfd", ATTACK_COMMAND | ATTACK_LAYER, false, .run = user_faults},
	{"io-uring", ATTACK_COMMAND | ATTACK_LAYER, false, .run = ring},
	{"key-left", ATTACK_COMMAND | ATTACK_LAYER, false, .run = leave_key},
	{"module", ATTACK_COMMAND | ATTACK_LAYER, true, .run = load_module},
	{"kexec", ATTACK_LAYER, true, .run = load_kernel},
	{"reboot", ATTACK_COMMAND | ATTACK_LAYER, true, .run = steer_reboot},
	{"swap", ATTACK_COMMAND | ATTACK_LAYER, true, .run = swap_on},
	{"accounting", ATTACK_COMMAND | ATTACK_LAYER, true, .run = accounting},
	{"host-name", ATTACK_COMMAND | ATTACK_LAYER, true, .run = host_name},
	{"clock", ATTACK_COMMAND | ATTACK_LAYER, true, .run = set_clock},
	{"ports", ATTACK_LAYER, false, .run = ports},
	{"files-watched", ATTACK_COMMAND | ATTACK_LAYER, true, .run = watch_files},
	{0},
};
