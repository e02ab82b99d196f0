/*
 * The forbidden system calls of a sandbox: refuses each of them, and tells those who follow.
 *
 * In its supervisor, after privilege_narrow(). The kernel keeps the caller waiting for the answer,
 * which is always EPERM: nothing is ever let through, and no argument and no memory of the caller's
 * is looked at. Without a listener the kernel refuses by itself. seccomp_unotify(2)
 */
#pragma once

#include "helper/supervisor/events.h"

#define DENIED_CALLS_MAX 16

/* A call of which somebody was told since told_ms. */
struct denied_call {
	uint32_t number;
	uint32_t thread, pid; /* who made the first of them since: as we see it, and its process
	                         inside (0: not known) */
	uint64_t count;       /* how often since it was told of */
	bool is_told;
};

struct denied {
	int listener; /* owned; -1: there is none */
	uint64_t answered_ms, told_ms;
	unsigned answered; /* since answered_ms */
	uint32_t lost;
	size_t count;
	struct denied_call calls[DENIED_CALLS_MAX];
};

/* For poll(2), readable when denied_answer() has something to do; -1: nobody is answered now. */
int denied_fd(struct denied *denied);

/* Answers all who wait, but so many in a moment only that callers do not keep this process busy. */
void denied_answer(struct denied *denied, struct events *events, enum sandbox_state state);

/* Tells of what is due. Milliseconds until there is something to do again; UINT64_MAX: only if
 * something happens. */
uint64_t denied_tell(struct denied *denied, struct events *events, enum sandbox_state state);

/* Tells of the rest, and listens no more: the kernel answers ENOSYS then. */
void denied_end(struct denied *denied, struct events *events, enum sandbox_state state);
