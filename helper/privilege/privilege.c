/* See privilege.h. */
#include "helper/privilege/privilege.h"
#include "base/kernel.h"
#include "protocol/frame.h"

#include <cap-ng.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

/* What building a sandbox takes, and which step takes it. CAP_SYS_RESOURCE is not here: it must not
 * be needed. */
static const int build[] = {
	CAP_SYS_ADMIN,    /* the template, clones and id maps of mounts, namespaces */
	CAP_SYS_CHROOT,   /* setns of a mount namespace, the decoder's file system */
	CAP_MKNOD,        /* the template's /dev */
	CAP_CHOWN,        /* the template, cgroup delegation */
	CAP_DAC_OVERRIDE, /* what a client shares, and above it; leaves of groups that init owns */
	CAP_SETUID,       /* uid_map; decoder, reader */
	CAP_SETGID,       /* gid_map */
	CAP_SETPCAP,      /* bounding sets */
	CAP_SETFCAP,      /* uid_map lines that name host id 0: identity = "caller" for root */
	CAP_SYS_PTRACE,   /* /proc/PID/ns of a client, to tell a confined one, and of init:
                             builder_make_init() */
	CAP_KILL,         /* ending processes of private ids */
	CAP_NET_BIND_SERVICE, /* port 53 of a sandbox's network namespace: net_catch_listen() */
	CAP_NET_ADMIN,        /* a map of sockets, before Linux 6.4: catch_attach() */
};

/* Without root: what init builds with and the helper does not, since both have one user namespace.
 * INIT_BUILD_CAPABILITIES */
static const int hand_on[] = {CAP_FOWNER, CAP_SYS_RESOURCE};

/* yett-audit's alone, which it gives up at once: files that can only be appended to.
 * ioctl_iflags(2) */
static const int audit[] = {CAP_LINUX_IMMUTABLE};

static const int supervise[] = {
	CAP_KILL,         /* ending init */
	CAP_DAC_OVERRIDE, /* removing command leaves from a group that init's id owns */
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

	/* The library learns of fork(2), but not of clone3(2), that there is another process now.
	 */
	capng_setpid(getpid());
	/* The bounding set can only be changed while SETPCAP is effective: raised for that moment
	 * if we have it at all. */
	capng_get_caps_process();
	can_bound = capng_have_capability(CAPNG_PERMITTED, CAP_SETPCAP);
	if (can_bound && !capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP)) {
		if (capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, CAP_SETPCAP) < 0 ||
		    capng_apply(CAPNG_SELECT_CAPS) < 0)
			return -EPERM;
	}
	capng_clear(CAPNG_SELECT_ALL);
	/* Others raise them where they are needed. */
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
	 * Undumpable: a process of the same uid without our capabilities then cannot look into us.
	 * prctl(2). Without root, that would be the one we serve; and the kernel keeps an
	 * undumpable process of a user from its own uid_map, as a file of root's.
	 */
	if (geteuid() != 0)
		return 0;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

static int set_effective(uint64_t mask)
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
	return set_effective(UINT64_MAX);
}

int privilege_lower(void)
{
	return set_effective(0);
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
	return set_effective(UINT64_C(1) << supervise[0] | UINT64_C(1) << supervise[1]);
}

/* user_namespaces(7) */
static bool has_id(uint32_t id)
{
	char text[16384], *at = text;

	if (kernel_read_file(AT_FDCWD, "/proc/self/uid_map", text, sizeof text) < 0)
		return true; /* what cannot be told is not the reason */
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
	return has_id(id);
}
