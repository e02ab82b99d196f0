/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the process that becomes init leaves the host: from root to an id that owns nothing. See
 * making.h. Starts with full privilege, ends without any over the host.
 *
 * The kernel dictates the order. First come the steps that need privilege over the host: the OOM
 * score, and entering the template's mount namespace, which is root's. Then the process makes the
 * sandbox's user namespace and takes an id in it. From there on the process has capabilities only
 * over what that namespace owns, which is nothing until it makes the other namespaces. In the new
 * mount namespace, the kernel locks the mounts that are copied from the template.
 * user_namespaces(7), mount_namespaces(7)
 */
#include "helper/privilege/privilege.h"
#include "helper/setup/making.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/resource.h>

#define CAP_MASK(cap) (UINT64_C(1) << (cap))

#define X(cap) | CAP_MASK(cap)
static const uint64_t build_capabilities = 0 INIT_BUILD_CAPABILITIES(X);
#undef X

static int identity_set_capabilities(uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)permitted, (uint32_t)permitted, (uint32_t)inheritable},
		{(uint32_t)(permitted >> 32), (uint32_t)(permitted >> 32),
	         (uint32_t)(inheritable >> 32)},
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/*
 * Keeps exactly the capabilities of building across the exec to come. init's file has none, so they
 * must be ambient. Raising ambient ones needs the inheritable set, and that must be filled before
 * the bounding set is reduced. The loop ends where the kernel knows no further capability.
 */
static int keep_what_building_takes(void)
{
	/* Neither an exec with id 0 inside nor a change of ids may add or remove capabilities. */
	const unsigned long securebits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
	                                 SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED;
	int r = identity_set_capabilities(build_capabilities, build_capabilities);

	for (unsigned long cap = 0; r == 0 && cap < 64; cap++) {
		bool is_kept = build_capabilities & CAP_MASK(cap);

		if (is_kept ? prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0
		            : prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
			if (errno != EINVAL || cap <= CAP_BLOCK_SUSPEND)
				return -errno;
			break;
		}
	}
	return r == 0 && prctl(PR_SET_SECUREBITS, securebits, 0, 0, 0) < 0 ? -errno : r;
}

/*
 * With SELinux: chooses the domain in which init builds, with the sandbox's categories. With
 * AppArmor the profiles choose. The file must be written while the host's /proc is visible, and
 * holds until the exec.
 */
static int choose_label(const struct setup *setup)
{
	char context[SELINUX_CONTEXT_MAX];

	if (setup->host->templates[setup->profile].selinux < SELINUX_PERMISSIVE)
		return 0;
	selinux_process_context("yett_build_t", setup->init_host, context);
	return kernel_write_file(AT_FDCWD, "/proc/self/attr/exec", context);
}

/*
 * No device can be opened through an overlay that belongs to a user namespace, so root makes this
 * one. Safe because the layer behind it is the template's /dev, which is open to everybody. The
 * mount is -1 if the profile wants no overlay, or without root.
 */
static int cover_dev(const struct setup *setup, int *ret_mount)
{
	static const char *const options[] = {"lowerdir", "/dev:/empty",  "xino",
	                                      "off",      "redirect_dir", "nofollow",
	                                      "metacopy", "off",          NULL};

	*ret_mount = -1;
	if (setup->host->rootless || !setup->host->policy->profiles[setup->profile].overlay_ro)
		return 0;
	*ret_mount = kernel_mount_new("overlay", options, "",
	                              MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	return *ret_mount < 0 ? *ret_mount : 0;
}

/*
 * Enters a new user namespace. Some resources have a limit for each user but none for each user
 * namespace: inotify instances, message queues, pending signals. The kernel charges those to the
 * user that made the namespace. So this process makes the namespace as init's id, which only this
 * sandbox has: no sandbox can then use up what root or another sandbox needs. Waits until the
 * supervisor has written the id map of the namespace, which maps no ids before that.
 */
static int enter_user_namespace(const struct setup *setup, int control)
{
	char byte = 0;

	/*
	 * The change of the id has emptied the effective set. Raise it again for hosts where only
	 * root may make user namespaces (kernel.unprivileged_userns_clone = 0).
	 */
	if (setresuid((uid_t)-1, setup->init_host, (uid_t)-1) < 0 || privilege_raise() < 0 ||
	    unshare(CLONE_NEWUSER) < 0)
		return -errno;
	/*
	 * The change of the id has cleared this setting. If the supervisor died in between, the
	 * read(2) below sees the end of file.
	 */
	kernel_die_with_parent();
	return send(control, &byte, 1, MSG_NOSIGNAL) == 1 && read(control, &byte, 1) == 1 ? 0
	                                                                                  : -EPIPE;
}

int identity_prepare(const struct setup *setup)
{
	/*
	 * If memory runs out, the kernel must kill a sandbox's process before one of the host's.
	 * Raising the score needs no capability.
	 */
	int r = kernel_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "300");

	/*
	 * Without core files: init (main()) cannot raise the limit of 1, so the crash of a
	 * compromised init starts no core handler of the host.
	 */
	if (!setup->host->policy->profiles[setup->profile].core_files &&
	    setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}) < 0 && errno != EPERM)
		return -errno;
	return r == 0 ? choose_label(setup) : r;
}

int identity_take(const struct setup *setup)
{
	uint32_t id = setup->map.init_inside;

	/*
	 * Without root there is only the helper's user namespace, with one id, and the groups
	 * cannot change.
	 */
	if (!setup->host->rootless &&
	    (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
	     setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0))
		return -errno;
	/*
	 * Leaves the keys of the helper and of the session that it was started in behind: a process
	 * that possesses a keyring can read it, whatever its id.
	 */
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0) < 0 && errno != ENOSYS)
		return -errno;
	return keep_what_building_takes();
}

int identity_leave(const struct setup *setup, int control, struct identity_fds *fds)
{
	int r = identity_prepare(setup);

	if (r < 0)
		return r;
	if (setns(setup->host->templates[setup->profile].mount_ns, CLONE_NEWNS) < 0)
		return -errno;
	r = cover_dev(setup, &fds->fds[INIT_FD_DEV - INIT_FD_CONTROL]);
	if (r == 0 && !setup->host->rootless)
		r = enter_user_namespace(setup, control);
	return r == 0 ? identity_take(setup) : r;
}

/*
 * Puts each of `fds` (-1: none) at `first`, first + 1, …, and /dev/null at 0 to first - 1. All
 * other descriptors are closed by the exec.
 */
static int place(int *fds, int count, int first)
{
	/*
	 * This descriptor and the copies are above all final numbers. So no dup2(2) or close(2)
	 * below hits a descriptor that is still needed.
	 */
	int opened = open("/dev/null", O_RDWR | O_CLOEXEC),
	    null = fcntl(opened, F_DUPFD_CLOEXEC, first + count);

	fd_close(opened);
	for (int i = 0; i < count; i++) {
		if (fds[i] < 0)
			continue;
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, first + count);
		if (fds[i] < 0)
			return -errno;
	}
	for (int i = 0; i < first + count; i++) {
		int from = i < first ? null : fds[i - first];

		if (from >= 0 ? dup2(from, i) < 0 : close(i) < 0 && errno != EBADF)
			return -errno;
	}
	return null < 0 || syscall(SYS_close_range, first + count, ~0u, CLOSE_RANGE_CLOEXEC) < 0
	               ? -errno
	               : 0;
}

/*
 * init cannot undo the filter. seccomp(2) asks for no_new_privs or CAP_SYS_ADMIN; this process has
 * the latter.
 */
static int load_filter(const struct policy_profile *profile)
{
	const struct sock_fprog program = {(unsigned short)profile->build_filter_count,
	                                   profile->build_filter};

	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 ? -errno : 0;
}

int identity_become(const struct setup *setup, enum setup_program which, char *const argv[],
                    int *fds, int count)
{
	/* above all final numbers */
	int program = fcntl(setup->host->programs[which], F_DUPFD_CLOEXEC, 128);
	int r = program < 0 ? -errno : place(fds, count, INIT_FD_CONTROL);

	if (r == 0 && which == SETUP_INIT)
		r = reached_step("leaver", "init");
	if (r == 0 && which == SETUP_INIT)
		r = load_filter(&setup->host->policy->profiles[setup->profile]);
	if (r == 0)
		(void)syscall(SYS_execveat, program, "", argv, (char *const[]){NULL},
		              AT_EMPTY_PATH);
	return r < 0 ? r : -errno;
}

int identity_become_init(const struct setup *setup, const char *what, struct identity_fds *fds)
{
	char *const argv[] = {(char *)"yett-init", (char *)what, NULL};

	return identity_become(setup, SETUP_INIT, argv, fds->fds, ARRAY_SIZE(fds->fds));
}
