/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles the system call filters of a profile once, when the policy is compiled. Sandboxes load
 * the finished programs. Part of yett-policy; runs without privilege, on names that the
 * administrator wrote, never on data from a client. It loads no filter: the process that becomes
 * yett-init loads the build filter, yett-init loads its own, and each command loads the command
 * filter on top. See seccomp(2), seccomp_rule_add(3) and the kernel's
 * userspace-api/seccomp_filter.rst.
 */
#pragma once

#include "base/error.h"

#include <linux/filter.h>
#include <stddef.h>

/* Names of system calls from one key of the policy, and where that key is. */
struct seccomp_names {
	char *const *names;
	size_t count;
	const char *file;
	unsigned line;
};

/*
 * Filters stack: a command runs under init's filter, which it inherits, and its own. So init's
 * filter is the whole set of the profile and is loaded once for each sandbox. The command filter is
 * short, because every command pays for loading it. It only removes what init alone needs, and
 * applies `log`, and `deny` for calls that init may need.
 *
 * The build filter is below both. It allows what they allow, with any argument, and what building a
 * sandbox needs. What it refuses, they refuse with the same error. It refuses only with errors,
 * which take precedence over a user notification or a trace of any later filter. So these refusals
 * are never reported. If it notified a listener instead, an init that was compromised while it
 * builds could install that listener. See seccomp(2).
 */
enum seccomp_role { SECCOMP_INIT, SECCOMP_COMMAND, SECCOMP_BUILD };

struct seccomp_spec {
	bool strict; /* the narrow base set */
	bool nested; /* also allow what makes sandboxes inside the sandbox: seccomp_nested_calls */
	/* also allow performance events of processes inside: the rules of SECCOMP_PERF */
	bool perf;
	/*
	 * For a name in several lists, `deny` wins over `allow`, and `allow` over `log`. A call in
	 * `allow` is allowed with any argument. A call in `log` is allowed as far as the set allows
	 * it, and the kernel logs each use.
	 */
	struct seccomp_names allow, deny, log;
};

/*
 * Compiles the filter of one role for the native architecture. A call outside the set fails with
 * ENOSYS, as on a kernel that lacks it, so that programs use their fallback. A call that the kernel
 * would forbid to an unprivileged caller fails with EPERM, which the listener answers
 * (SECCOMP_RET_USER_NOTIF). Only init's filter uses the listener: the kernel accepts no second one,
 * and an error from another filter would win over the notification. Returns 0 with an array that
 * the caller frees; YETT_E_INVALID_REQUEST with "FILE:LINE: what" for an unknown name or a denied
 * execve; YETT_E_UNSUPPORTED: the program is too long; or -ENOMEM.
 */
_must_check_ int seccomp_compile(const struct seccomp_spec *spec, enum seccomp_role role,
                                 struct sock_filter **ret_filter, size_t *ret_count,
                                 struct yett_error *error);
