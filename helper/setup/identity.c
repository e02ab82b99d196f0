/*
 * The last steps inside: from root in the initial user namespace to an id that owns nothing.
 *
 * The order matters and is the kernel's: what needs privilege over the host (oom_score_adj) first, then the user
 * namespace, then ids, then the capability sets (entering a user namespace fills the bounding set anew), then exec.
 * After identity_take() only CAP_SETUID, CAP_SETGID and CAP_KILL of the payload's own user namespace are left.
 */
#include "helper/setup/kernel.h"
#include "helper/setup/steps.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define CAP_MASK(cap) (UINT64_C(1) << (cap))

/*
 * init places commands under their ids and signals them. Where there is one id they keep commands from it: what the kernel lets
 * a process do to another of its id (but signals, and limits) it does not where that one has more capabilities.
 */
#define INIT_CAPABILITIES (CAP_MASK(CAP_SETUID) | CAP_MASK(CAP_SETGID) | CAP_MASK(CAP_KILL))

/* The helper's keys are not ours to show; the payload gets no key ring call at all. */
int identity_leave_keyring(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	(void)setup, (void)step, (void)error;
	return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL, 0, 0, 0) < 0 && errno != ENOSYS ? -errno : 0;
}

int identity_loopback(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)setup, (void)step, (void)error;
	return fd < 0 || ioctl(fd, SIOCSIFFLAGS, &lo) < 0 ? -errno : 0;
}

int identity_hostname(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	const char *name = plan_text(setup->plan, step->source);

	(void)error;
	return sethostname(name, strlen(name)) < 0 ? -errno : 0;
}

/* Empties the bounding set but for `keep`: the loop ends where the kernel knows no further capability. */
static int drop_bounding(uint64_t keep)
{
	for (unsigned long cap = 0; cap < 64; cap++)
		if (!(keep & CAP_MASK(cap)) && prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0)
			return errno == EINVAL && cap > CAP_BLOCK_SUSPEND ? 0 : -errno;
	return 0;
}

static int set_capabilities(uint64_t permitted, uint64_t inheritable)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{(uint32_t)permitted, (uint32_t)permitted, (uint32_t)inheritable},
		{(uint32_t)(permitted >> 32), (uint32_t)(permitted >> 32), (uint32_t)(inheritable >> 32)},
	};

	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

/*
 * Leaves exactly `keep`, and in the bounding set only `bounding`, across the exec to come: by the ambient set, since
 * init is a file without capabilities. The inheritable set has to be filled while the bounding set still is.
 */
static int keep_only(uint64_t keep, uint64_t bounding)
{
	/* Id 0 inside must not give capabilities back on exec, nor a change of id take or give any behind our back. */
	const unsigned long securebits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED;
	int r = set_capabilities(keep | CAP_MASK(CAP_SETPCAP), keep);

	for (unsigned long cap = 0; r == 0 && cap < 64; cap++)
		if ((keep & CAP_MASK(cap)) && prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) < 0)
			r = -errno;
	if (r == 0)
		r = drop_bounding(bounding);
	if (r == 0 && prctl(PR_SET_SECUREBITS, securebits, 0, 0, 0) < 0)
		r = -errno;
	return r == 0 ? set_capabilities(keep, keep) : r;
}

int identity_take(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	uint32_t id = setup->map->init_inside;
	int r;

	(void)step, (void)error;
	/* The host's processes are dearer than a sandbox's when memory runs out. Raising it needs no capability. */
	r = kernel_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "300");
	if (r < 0)
		return r;
	if (setns(setup->user_ns, CLONE_NEWUSER) < 0)
		return -errno;
	/* Without root there is one id, which is ours already, and the groups cannot be changed. user_namespaces(7) */
	if (!setup->host->is_rootless && (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setgroups(0, NULL) < 0 ||
					  setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0))
		return -errno;
	return keep_only(INIT_CAPABILITIES | setup->plan->capabilities, setup->plan->capabilities);
}

/* Puts each of `fds` (-1: leave out) at first, first + 1, … without one overwriting another. */
static int place(int *fds, int count, int first)
{
	for (int i = 0; i < count; i++) {
		if (fds[i] < 0)
			continue;
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, first + count);
		if (fds[i] < 0)
			return -errno;
	}
	for (int i = 0; i < count; i++)
		if (fds[i] >= 0 && dup2(fds[i], first + i) < 0)
			return -errno;
	return 0;
}

/*
 * The label that init gets with the exec to come, and its commands from it. Here, and not by init: after no_new_privs the
 * kernel changes no label of its own accord. apparmor.d(5), aa_change_onexec(2)
 */
static int choose_apparmor(const struct setup *setup, struct yett_error *error)
{
	const struct plan *plan = setup->plan;
	static const char file[] = "/proc/self/attr/apparmor/exec";
	const char *name = plan_text(plan, plan->label);
	char text[POLICY_LABEL_MAX + 8];
	int r;

	if (!*name && plan->label_required)
		return error_set(error, YETT_E_UNSUPPORTED, 0, "the SELinux type '%s' is required, and this host does not use SELinux",
				 plan_text(plan, plan->selinux_type));
	if (!*name)
		return 0;
	(void)snprintf(text, sizeof text, "exec %s", name);
	r = kernel_write_file(AT_FDCWD, file, text);
	if (r == 0)
		return 0;
	if (!plan->label_required && (r == -EPERM || r == -EACCES) && setup->host->is_rootless) /* who asks is confined already */
		return 0;
	if (r != -ENOENT && r != -EINVAL)
		return r;
	if (!plan->label_required)
		return 0;
	if (r == -ENOENT && access(file, F_OK) == 0)
		return error_set(error, YETT_E_UNSUPPORTED, 0, "the AppArmor profile '%s' is required and not loaded", name);
	return error_set(error, YETT_E_UNSUPPORTED, 0, "the AppArmor profile '%s' is required, and this host does not use AppArmor", name);
}

/* SELinux, where the host uses it and the profile names a type; otherwise AppArmor. No kernel before 6.17 has both in force. */
static int choose_label(const struct setup *setup, struct yett_error *error)
{
	enum selinux_state state = setup->host->templates[setup->plan->profile].selinux;

	if (state == SELINUX_ABSENT)
		return choose_apparmor(setup, error);
	if (setup->plan->label_required && state != SELINUX_ENFORCING)
		return error_set(error, YETT_E_UNSUPPORTED, 0, "the SELinux type '%s' is required, and %s",
				 plan_text(setup->plan, setup->plan->selinux_type),
				 state == SELINUX_UNKNOWN ? "the loaded policy does not know it" : "SELinux is permissive on this host");
	/* proc_pid_attr_current(5): the context of the next exec. The file is our own. */
	return setup->process_label[0] ? kernel_write_file(AT_FDCWD, "/proc/self/attr/exec", setup->process_label) : 0;
}

int identity_become_init(struct setup *setup, const struct plan_step *step, struct yett_error *error)
{
	static char *const arguments[] = {"yett-init", NULL}, *const environment[] = {NULL};
	int fds[INIT_FD_END - INIT_FD_CONTROL] = {setup->control, setup->channel, setup->cgroup.sandbox[0]};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), nulls[3] = {null, null, null};
	int program = fcntl(setup->host->init_program, F_DUPFD_CLOEXEC, 128), r;

	(void)step;
	for (int i = 0; i < 4; i++)
		fds[INIT_FD_MEMORY_EVENTS - INIT_FD_CONTROL + i] = setup->counters[i];
	if (null < 0 || program < 0)
		return -errno;
	/* place() closes nothing that it still needs: its copies lie above all the final numbers. */
	r = place(fds, INIT_FD_END - INIT_FD_CONTROL, INIT_FD_CONTROL);
	if (r == 0)
		r = place(nulls, 3, 0);
	if (r == 0)
		r = choose_label(setup, error);
	if (r != 0)
		return r;
	for (int i = 0; i < INIT_FD_END - INIT_FD_CONTROL; i++)
		if (fds[i] < 0)
			(void)close(INIT_FD_CONTROL + i);
	if (syscall(SYS_close_range, INIT_FD_END, ~0u, CLOSE_RANGE_CLOEXEC) < 0)
		return -errno;
	(void)syscall(SYS_execveat, program, "", arguments, environment, AT_EMPTY_PATH);
	return -errno;
}
