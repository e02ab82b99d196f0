/*
 * The system call filter of a profile, compiled once from the policy and loaded many times as a
 * ready program.
 *
 * In yett-policy, without privilege, on names that the administrator wrote; it loads nothing
 * itself: who becomes yett-init loads the filter of building, yett-init loads its own, and each
 * command loads the one of commands on top. Nothing here ever comes from a client. seccomp(2),
 * seccomp_rule_add(3), kernel: userspace-api/seccomp_filter.rst.
 */
#pragma once

#include "base/error.h"

#include <linux/filter.h>
#include <stddef.h>

/* Names of system calls from one key of the policy, and where it stands. */
struct seccomp_names {
	char *const *names;
	size_t count;
	const char *file;
	unsigned line;
};

/*
 * Filters stack: a command is under init's, which it inherits, and under its own. So init's is the
 * whole set of the profile and is loaded once per sandbox, while the one of commands is short,
 * since loading costs each command: it only takes back what init alone needs, and applies `log`,
 * and `deny` to calls that init may need.
 *
 * The one of building lies below both. It holds what they hold, with any argument, and what
 * building a sandbox takes. What it refuses they refuse, too, with the same error. Its answers are
 * errors, over which no answer of a later filter wins: one that asks a listener or a tracer would,
 * if this one did so too, be an init's that was captured while it builds. So nobody is told of
 * these calls. seccomp(2)
 */
enum seccomp_role { SECCOMP_INIT, SECCOMP_COMMAND, SECCOMP_BUILD };

struct seccomp_spec {
	bool strict; /* the narrow base set */
	bool nested; /* what sandboxes inside are made with is allowed, too: seccomp_nested_calls */
	bool perf;   /* so are performance events of processes inside: the rules of SECCOMP_PERF */
	/*
	 * A name in several lists: deny wins, then allow. An allowed call is allowed with any
	 * argument. A logged one is allowed as far as the set lets it, and each use is written to
	 * the kernel's log.
	 */
	struct seccomp_names allow, deny, log;
};

/*
 * Compiles the filter of one role for the native architecture. What the set does not hold gets
 * ENOSYS, as from a kernel that lacks it, so that programs take their fall-back; what a kernel
 * would forbid to an unprivileged caller gets EPERM, from who listens (SECCOMP_RET_USER_NOTIF, in
 * init's filter only: of a second one the kernel takes no listener, and an error that another
 * filter returns would win). 0 with an array that the caller frees; YETT_E_INVALID_REQUEST with
 * "FILE:LINE: what" for an unknown name or a denied execve; YETT_E_UNSUPPORTED when the program is
 * too long; -ENOMEM.
 */
_must_check_ int seccomp_compile(const struct seccomp_spec *spec, enum seccomp_role role,
                                 struct sock_filter **ret_filter, size_t *ret_count,
                                 struct yett_error *error);
