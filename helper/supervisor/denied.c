/* SPDX-License-Identifier: Apache-2.0 */
/* See denied.h. */
#include "helper/supervisor/denied.h"
#include "helper/setup/setup.h"

#include <linux/seccomp.h>
#include <sys/ioctl.h>

/* At most ANSWERS_MAX calls are answered in ANSWERS_MS. */
#define ANSWERS_MS  10
#define ANSWERS_MAX 64
#define REPORT_MS   1000

int denied_fd(struct denied *denied)
{
	return pace_allows(&denied->answers, ANSWERS_MS, ANSWERS_MAX) ? denied->listener : -1;
}

/*
 * Finds or adds the entry of a system call. Returns NULL if the table has DENIED_CALLS_MAX others.
 */
static struct denied_call *denied_find(struct denied *denied, uint32_t number)
{
	size_t i = 0;

	while (i < denied->count && denied->calls[i].number != number)
		i++;
	if (i == DENIED_CALLS_MAX)
		return NULL;
	if (i == denied->count) {
		denied->calls[denied->count++] = (struct denied_call){.number = number};
		denied->reported_ms = i == 0 ? clock_now_ms() : denied->reported_ms;
	}
	return &denied->calls[i];
}

static void supervisor_denied_report(struct denied *denied, struct denied_call *call,
                                     struct events *events)
{
	struct message_happened event = {
		.kind = EVENT_DENIED, .pid = call->pid, .call = call->number, .count = call->count};

	events_report(events, event, NULL, denied->lost);
	denied->lost = 0;
	call->count = 0;
	call->is_reported = true;
}

/* Answers one waiting call. Returns false if there is none. */
static bool supervisor_denied_answer(struct denied *denied, struct events *events)
{
	struct pollfd wait = {.fd = denied->listener, .events = POLLIN};
	struct seccomp_notif_resp refusal = {.error = -EPERM};
	struct seccomp_notif call = {0};
	struct denied_call *known = NULL;

	/* SECCOMP_IOCTL_NOTIF_RECV blocks if there is nothing to receive. */
	if (poll(&wait, 1, 0) <= 0)
		return false;
	denied->answers.count++;
	if (!(wait.revents & POLLIN) ||
	    ioctl(denied->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
		/*
		 * ENOENT: this caller is gone. After any other error there are no callers left, or
		 * the descriptor is no seccomp listener.
		 */
		if (!(wait.revents & POLLIN) || (errno != ENOENT && errno != EINTR))
			denied->listener = fd_close(denied->listener);
		return true;
	}
	if (events->are_followed)
		known = denied_find(denied, (uint32_t)call.data.nr);
	if (known && known->count == 0 && known->thread != call.pid)
		*known = (struct denied_call){known->number, call.pid, setup_pid_inside(call.pid),
		                              0, known->is_reported};
	refusal.id = call.id;
	/* On failure the caller is gone, or a signal interrupted it and it will repeat the call. */
	if (ioctl(denied->listener, SECCOMP_IOCTL_NOTIF_SEND, &refusal) < 0 ||
	    !events->are_followed)
		return true;
	if (!known) {
		denied->lost++;
		return true;
	}
	known->count++;
	if (!known->is_reported)
		supervisor_denied_report(denied, known, events);
	return true;
}

void denied_answer(struct denied *denied, struct events *events)
{
	/*
	 * This loop has its own limit, because the interval of denied_fd() may restart while slow
	 * answers are sent.
	 */
	for (unsigned i = 0;
	     i < ANSWERS_MAX && denied_fd(denied) >= 0 && supervisor_denied_answer(denied, events);
	     i++)
		;
}

/*
 * Reports all unreported refusals. Calls that were repeated stay in the table for another second.
 * The others are removed, so that their next refusal is reported at once.
 */
static void reports_all(struct denied *denied, struct events *events)
{
	size_t count = denied->count;

	denied->count = 0;
	for (size_t i = 0; i < count; i++)
		if (denied->calls[i].count) {
			supervisor_denied_report(denied, &denied->calls[i], events);
			denied->calls[denied->count++] = denied->calls[i];
		}
}

uint64_t denied_report(struct denied *denied, struct events *events)
{
	uint64_t now = clock_now_ms();

	if (denied->count && now - denied->reported_ms >= REPORT_MS) {
		reports_all(denied, events);
		denied->reported_ms = now;
	}
	if (denied->answers.count >= ANSWERS_MAX)
		return ANSWERS_MS;
	return denied->count ? denied->reported_ms + REPORT_MS - now : UINT64_MAX;
}

void denied_end(struct denied *denied, struct events *events)
{
	reports_all(denied, events);
	denied->listener = fd_close(denied->listener);
}
