/*
 * How a process that reads what others wrote gives up its privilege: the stages that yett-decider,
 * yett-decoder, yett-policy, yett-reader and yett-closer share.
 *
 * Each stage is one call, proven afterwards where the kernel tells; false when it failed. Started
 * as root or as the caller in personal mode; afterwards without privilege. Links no library.
 */
#pragma once

#include "base/fd.h"

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

/* A sanitizer's shadow alone is terabytes of address space. */
#if defined(__SANITIZE_ADDRESS__)
#define LOCKDOWN_ADDRESS_SPACE(bytes) RLIM_INFINITY
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOCKDOWN_ADDRESS_SPACE(bytes) RLIM_INFINITY
#endif
#endif
#ifndef LOCKDOWN_ADDRESS_SPACE
#define LOCKDOWN_ADDRESS_SPACE(bytes) (bytes)
#endif

struct lockdown_limit {
	int resource;
	rlim_t most;
};

/* An id but root's, from a program's argument. */
bool lockdown_parse_id(const char *text, uint32_t *ret_id);

/* Lowers hard and soft limits; never raises one. */
bool lockdown_limits(const struct lockdown_limit *limits, size_t count);

/*
 * Whether this is a root that can become another: it has CAP_SETUID, CAP_SETGID and CAP_SETPCAP.
 * One that lacks them, as in a container, has no sandboxes built for it either, and serves nobody
 * but itself.
 */
bool lockdown_can_leave_root(void);

/* Empties the bounding set, while CAP_SETPCAP is still there. */
bool lockdown_bounding_set(void);

/* Takes uid and gid, without supplementary groups. CAP_SETGID, CAP_SETUID. */
bool lockdown_ids(uid_t uid, gid_t gid);

/* Empties all other sets of capabilities, sets no_new_privs, and becomes undumpable. */
bool lockdown_capabilities(void);
bool lockdown_no_new_privs(void);
bool lockdown_undumpable(void);

/* Ends with its parent. After the ids, which clear it; the parent may have died before. */
bool lockdown_death_signal(void);

#define LOCKDOWN_CALLS_MAX  64
#define LOCKDOWN_CHECKS_MAX 32 /* instructions */
/* What every program's end takes, and a sanitizer itself: the last of a list of calls.
 * <sys/syscall.h> */
#if defined(__SANITIZE_ADDRESS__)
#define LOCKDOWN_END                                                                          \
	SYS_rt_sigreturn, SYS_exit, SYS_exit_group, SYS_sigaltstack, SYS_mprotect, SYS_futex, \
		SYS_sched_yield, SYS_rt_sigprocmask, SYS_gettid, SYS_getpid
#else
#define LOCKDOWN_END SYS_rt_sigreturn, SYS_exit, SYS_exit_group
#endif
/* From here on the kernel kills the process for any system call but these, at most
 * LOCKDOWN_CALLS_MAX. After no_new_privs. seccomp(2) */
bool lockdown_filter(const int *calls, size_t count);

/*
 * The same, where some of these calls may have some arguments only: `checks` are at most
 * LOCKDOWN_CHECKS_MAX instructions that begin and end with the call's number loaded and answer
 * SECCOMP_RET_KILL_PROCESS to what is not to be. One filter instead of two: each takes the kernel a
 * tenth of a millisecond.
 */
bool lockdown_filter_with(const struct sock_filter *checks, size_t checks_count, const int *calls,
                          size_t count);
