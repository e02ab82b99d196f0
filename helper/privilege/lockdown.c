/* SPDX-License-Identifier: Apache-2.0 */
/* See lockdown.h. */
#include "helper/privilege/lockdown.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

bool lockdown_parse_id(const char *text, uint32_t *ret_id)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno != 0 || text[0] < '0' || text[0] > '9' || *end != '\0' || value == 0 ||
	    value >= UINT32_MAX)
		return false;
	*ret_id = (uint32_t)value;
	return true;
}

bool lockdown_limits(const struct lockdown_limit *limits, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct rlimit limit;

		if (getrlimit(limits[i].resource, &limit) < 0)
			return false;
		if (limit.rlim_max > limits[i].most)
			limit.rlim_max = limits[i].most;
		limit.rlim_cur = limit.rlim_max;
		if (setrlimit(limits[i].resource, &limit) < 0)
			return false;
	}
	return true;
}

bool lockdown_can_leave_root(void)
{
	static const uint32_t needed = 1u << CAP_SETUID | 1u << CAP_SETGID | 1u << CAP_SETPCAP;
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct has[_LINUX_CAPABILITY_U32S_3];

	/*
	 * If the capabilities cannot be read, try to change the ids all the same: that fails
	 * without them.
	 */
	return geteuid() == 0 &&
	       (syscall(SYS_capget, &header, has) < 0 || (has[0].effective & needed) == needed);
}

/*
 * The kernel returns EINVAL beyond its last capability, and EPERM to a process without CAP_SETPCAP:
 * PR_CAPBSET_DROP(2const). Drops all of them without reading first which are set: that would double
 * the number of calls for each program that is started.
 */
bool lockdown_bounding_set(void)
{
	unsigned long capability = 0;

	while (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
		capability++;
	return errno == EINVAL && capability > 0;
}

bool lockdown_ids(uid_t uid, gid_t gid)
{
	uid_t uids[3];
	gid_t gids[3];

	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0 && getgroups(0, NULL) == 0 &&
	       getresuid(&uids[0], &uids[1], &uids[2]) == 0 &&
	       getresgid(&gids[0], &gids[1], &gids[2]) == 0 && uids[0] == uid && uids[1] == uid &&
	       uids[2] == uid && gids[0] == gid && gids[1] == gid && gids[2] == gid;
}

bool lockdown_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0},
				      left[_LINUX_CAPABILITY_U32S_3];

	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
	       syscall(SYS_capset, &header, none) == 0 && syscall(SYS_capget, &header, left) == 0 &&
	       memcmp(none, left, sizeof none) == 0;
}

bool lockdown_no_new_privs(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

bool lockdown_undumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0;
}

bool lockdown_death_signal(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
}

bool lockdown_filter(const struct sock_fprog *filter)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter, 0, 0) == 0;
}
