/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forbidden system calls of a sandbox: refuses each of them and reports them to the followers.
 *
 * Runs in the supervisor, after privilege_narrow(). The kernel blocks the caller until the answer,
 * which is always EPERM. This code must never allow a call, and must never look at the caller's
 * arguments or memory. Without a listener the kernel refuses by itself. seccomp_unotify(2)
 */
#pragma once

#include "helper/supervisor/events.h"

#define DENIED_CALLS_MAX 16

/* A system call that was refused since reported_ms. */
struct denied_call {
	uint32_t number;
	/*
	 * The thread that made the first unreported call, as the supervisor sees it, and its
	 * process as numbered inside (0: not known).
	 */
	uint32_t thread, pid;
	uint64_t count; /* refusals that were not reported yet */
	bool is_reported;
};

struct denied {
	int listener; /* seccomp listener, owned; -1: none */
	struct pace answers;
	uint64_t reported_ms;
	uint32_t lost;
	size_t count;
	struct denied_call calls[DENIED_CALLS_MAX];
};

/*
 * A descriptor for poll(2), readable when denied_answer() has work; -1 while the limit on answers
 * is reached, or there is no listener.
 */
int denied_fd(struct denied *denied);

/*
 * Answers all waiting callers, but at most so many in an interval that callers cannot keep the
 * supervisor busy.
 */
void denied_answer(struct denied *denied, struct events *events);

/*
 * Reports what is due. Returns the milliseconds until it must be called again; UINT64_MAX: not
 * before another call is refused.
 */
uint64_t denied_report(struct denied *denied, struct events *events);

/*
 * Reports what was not reported yet, and closes the listener: from then on the kernel answers
 * ENOSYS.
 */
void denied_end(struct denied *denied, struct events *events);
