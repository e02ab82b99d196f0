/* SPDX-License-Identifier: Apache-2.0 */
/* See lockdown.h. */
#include "helper/privilege/lockdown.h"
#include "base/filter_head.h"

#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
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

/* --- the filter: written backwards, so that the distance of each jump is known --- */

#define LEAF   3 /* calls that are compared one after the other */
#define LENGTH (FILTER_HEAD + LOCKDOWN_CHECKS_MAX + 2 * LOCKDOWN_CALLS_MAX + 2)
#define ALLOW  (LENGTH - 1)
#define KILL   (LENGTH - 2)

struct program {
	size_t first; /* the instruction that was written last */
	struct sock_filter code[LENGTH];
};

_Static_assert(2 * LOCKDOWN_CALLS_MAX + 2 < UINT8_MAX, "every comparison reaches both ends");

static void lockdown_push(struct program *program, struct sock_filter instruction)
{
	program->code[--program->first] = instruction;
}

/* Returns the jump distance from the instruction that is written next. */
static uint8_t lockdown_distance(const struct program *program, size_t target)
{
	return (uint8_t)(target - program->first);
}

/*
 * Finds the number of the call by binary search. When a filter is installed, the kernel runs it
 * once for each system call number, to find those that are always allowed. With a linear search
 * that takes longer than everything else.
 */
static void lockdown_push_search(struct program *program, const int *calls, size_t count)
{
	const size_t half = count / 2;
	size_t upper;

	if (count > LEAF) {
		lockdown_push_search(program, calls + half, count - half);
		upper = program->first;
		lockdown_push_search(program, calls, half);
		lockdown_push(program, (struct sock_filter)BPF_JUMP(
					       BPF_JMP | BPF_JGE | BPF_K, (uint32_t)calls[half],
					       lockdown_distance(program, upper), 0));
		return;
	}
	for (size_t i = count; i-- > 0;)
		lockdown_push(program,
		              (struct sock_filter)BPF_JUMP(
				      BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i],
				      lockdown_distance(program, ALLOW),
				      i + 1 < count ? 0 : lockdown_distance(program, KILL)));
}

static int lockdown_compare(const void *a, const void *b)
{
	int first = *(const int *)a, second = *(const int *)b;

	return (first > second) - (first < second);
}

bool lockdown_filter_with(const struct sock_filter *checks, size_t checks_count, const int *calls,
                          size_t count)
{
	struct program program = {.first = LENGTH};
	struct sock_fprog filter;
	int sorted[LOCKDOWN_CALLS_MAX];

	if (count > LOCKDOWN_CALLS_MAX || checks_count > LOCKDOWN_CHECKS_MAX)
		return false;
	for (size_t i = 0; i < count; i++)
		sorted[i] = calls[i];
	qsort(sorted, count, sizeof *sorted, lockdown_compare);
	lockdown_push(&program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
	lockdown_push(&program,
	              (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
	lockdown_push_search(&program, sorted, count);
	while (checks_count-- > 0)
		lockdown_push(&program, checks[checks_count]);
	program.first -= FILTER_HEAD;
	filter_head(program.code + program.first, FILTER_ARCH, SECCOMP_RET_KILL_PROCESS);
	filter = (struct sock_fprog){(unsigned short)(LENGTH - program.first),
	                             program.code + program.first};
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

bool lockdown_filter(const int *calls, size_t count)
{
	return lockdown_filter_with(NULL, 0, calls, count);
}
