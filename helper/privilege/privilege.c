/* SPDX-License-Identifier: Apache-2.0 */
/* See privilege.h. */
#include "helper/privilege/privilege.h"
#include "base/kernel.h"
#include "protocol/frame.h"

#include <cap-ng.h>
#include <linux/capability.h>

/*
 * The capabilities that building a sandbox needs, and the steps that need them. CAP_SYS_RESOURCE is
 * not among them: building must work without it. docs/manual.py puts this table into
 * yett-helper(8), so each comment must stay on the line of its capability.
 */
static const int build[] = {
	CAP_SYS_ADMIN,        /* the template, clones and id maps of mounts, namespaces */
	CAP_SYS_CHROOT,       /* setns of a mount namespace, the decoder's file system */
	CAP_MKNOD,            /* the template's /dev */
	CAP_CHOWN,            /* the template, cgroup delegation */
	CAP_DAC_OVERRIDE,     /* shares and their parents; leaf cgroups below one that init owns */
	CAP_SETUID,           /* uid_map; ids of decoder and reader */
	CAP_SETGID,           /* gid_map */
	CAP_SETPCAP,          /* bounding sets */
	CAP_SETFCAP,          /* uid_map lines that name host id 0: identity = "caller" for root */
	CAP_SYS_PTRACE,       /* /proc/PID/ns: find confined clients; forker_make_init() */
	CAP_KILL,             /* killing processes of private ids */
	CAP_NET_BIND_SERVICE, /* port 53 of a sandbox's network namespace: net_listen_open() */
	CAP_NET_ADMIN,        /* a map of sockets, before Linux 6.4: port_listener_attach() */
};

/*
 * Only without root: init builds with these, and the helper does not need them. Both are then in
 * the same user namespace, so init has only what the helper can pass on. INIT_BUILD_CAPABILITIES
 */
static const int hand_on[] = {CAP_FOWNER, CAP_SYS_RESOURCE};

/*
 * Only for yett-audit, which makes its files append-only and then gives this up at once.
 * ioctl_iflags(2)
 */
static const int audit[] = {CAP_LINUX_IMMUTABLE};

static const int supervise[] = {
	CAP_KILL,         /* killing init */
	CAP_DAC_OVERRIDE, /* removing the cgroups of commands from one that init's id owns */
};

static int update(unsigned sets, const int *capabilities, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (capng_update(CAPNG_ADD, sets, (unsigned)capabilities[i]) < 0)
			return -EINVAL;
	return 0;
}

int privilege_take(enum privilege_role role)
{
	const unsigned kept = CAPNG_PERMITTED | CAPNG_BOUNDING_SET;
	bool can_bound;

	/* libcap-ng notices a new process after fork(2), but not after clone3(2). */
	capng_setpid(getpid());
	/*
	 * The bounding set can only be changed while CAP_SETPCAP is effective. Raise it for that,
	 * if we have it at all.
	 */
	capng_get_caps_process();
	can_bound = capng_have_capability(CAPNG_PERMITTED, CAP_SETPCAP);
	if (can_bound && !capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP)) {
		if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, CAP_SETPCAP) < 0 ||
		    capng_apply(CAPNG_SELECT_CAPS) < 0)
			return -EPERM;
	}
	capng_clear(CAPNG_SELECT_ALL);
	/* Other roles raise them for single calls that need them. */
	if (update(kept | (role == PRIVILEGE_BUILD ? CAPNG_EFFECTIVE : 0), build,
	           ARRAY_SIZE(build)) < 0 ||
	    (geteuid() != 0 ? update(kept, hand_on, ARRAY_SIZE(hand_on))
	                    : update(CAPNG_BOUNDING_SET, audit, ARRAY_SIZE(audit))) < 0)
		return -EINVAL;
	if (can_bound && capng_apply(CAPNG_SELECT_BOUNDS) < 0)
		return -EPERM;
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return -EPERM;
	/*
	 * Become undumpable, so that a process of the same uid without our capabilities cannot
	 * trace us. prctl(2). Without root that process would be the client itself. Also, the
	 * kernel gives the /proc files of an undumpable process to root, so an ordinary user could
	 * not write our uid_map.
	 */
	if (geteuid() != 0)
		return 0;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static int privilege_set_effective(uint64_t mask)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	data[0].effective = data[0].permitted & (uint32_t)mask;
	data[1].effective = data[1].permitted & (uint32_t)(mask >> 32);
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

int privilege_raise(void)
{
	return privilege_set_effective(UINT64_MAX);
}

int privilege_lower(void)
{
	return privilege_set_effective(0);
}

int privilege_send(int socket, const void *bytes, size_t length, const int *fds, size_t fd_count)
{
	int r = privilege_raise();

	if (r == 0)
		r = frame_send(socket, bytes, length, fds, fd_count, MSG_DONTWAIT);
	return privilege_lower() < 0 ? -EPERM : r;
}

int privilege_narrow(void)
{
	return privilege_set_effective(UINT64_C(1) << supervise[0] | UINT64_C(1) << supervise[1]);
}

/* Returns whether our user namespace maps this id. user_namespaces(7) */
static bool privilege_has_id(uint32_t id)
{
	char text[16384], *at = text;

	if (kernel_read_file(AT_FDCWD, "/proc/self/uid_map", text, sizeof text) < 0)
		return true; /* if the map cannot be read, do not refuse because of it */
	for (; at && *at; at = strchr(at, '\n'), at += at != NULL) {
		unsigned first, count;

		if (sscanf(at, "%u %*u %u", &first, &count) == 2 && id >= first &&
		    id - first < count)
			return true;
	}
	return false;
}

bool privilege_can_build(uint32_t id, const char **ret_missing)
{
	*ret_missing = "root";
	if (geteuid() != 0)
		return false;
	capng_get_caps_process();
	for (size_t i = 0; i < ARRAY_SIZE(build); i++) {
		*ret_missing = capng_capability_to_name((unsigned)build[i]);
		if (!capng_have_capability(CAPNG_PERMITTED, (unsigned)build[i]))
			return false;
	}
	*ret_missing = PRIVILEGE_IDS;
	return privilege_has_id(id);
}
