/* SPDX-License-Identifier: Apache-2.0 */
/* See ask.h. */
#include "programs/decide/decider/ask.h"
#include "protocol/frame.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define PART_MAX 60000 /* bytes in each packet of ask_report_bytes() */

static bool was_too_late;

bool ask_was_too_late(void)
{
	bool was = was_too_late;

	was_too_late = false;
	return was;
}

/* The monitor is gone or has closed the connection: there is no client left to answer. */
static void __attribute__((noreturn)) ask_leave(void)
{
	_exit(0);
}

static struct ask_fds take_fds(struct frame *frame)
{
	return (struct ask_fds){frame->fd_count > 0 ? steal_fd(&frame->fds[0]) : -1,
	                        frame->fd_count > 1 ? steal_fd(&frame->fds[1]) : -1};
}

/*
 * Ignores a failed send: after the monitor has closed its end, its last packets can still be
 * received, and say why.
 */
static void send_parts(enum decider_act act, const struct iovec *parts, unsigned count)
{
	uint32_t number = act;
	struct iovec all[4] = {{&number, sizeof number}};
	struct msghdr header = {.msg_iov = all, .msg_iovlen = 1 + count};

	for (size_t i = 0; i < count; i++)
		all[i + 1] = parts[i];
	(void)!sendmsg(STDIN_FILENO, &header, MSG_NOSIGNAL);
}

int ask(enum decider_act act, const struct iovec *parts, unsigned count,
        struct decider_answer *ret_answer, struct ask_fds *ret_fds, struct yett_error *error)
{
	/* Static: to map this much memory for each answer takes longer than the answer. */
	static struct frame frame;
	int r = -ECONNRESET;

	send_parts(act, parts, count);
	/* unix(7): the kernel reports ECONNRESET once, before the packets that are still queued. */
	while (r == -ECONNRESET)
		r = frame_receive(STDIN_FILENO, &frame, 0);
	/* A bare error, sent without a request: why the connection must end. */
	if (r > 0 && frame.length == sizeof *error) {
		memcpy(error, frame.bytes, sizeof *error);
		return (int)error->code;
	}
	if (r <= 0 || frame.length != sizeof *ret_answer)
		ask_leave();
	memcpy(ret_answer, frame.bytes, sizeof *ret_answer);
	if (ret_fds)
		*ret_fds = take_fds(&frame);
	frame_close_fds(&frame);
	if (ret_answer->error.code)
		*error = ret_answer->error;
	was_too_late = ret_answer->error.code && ret_answer->is_over;
	return (int)ret_answer->error.code;
}

void ask_report(enum decider_act act)
{
	send_parts(act, NULL, 0);
}

void ask_report_bytes(enum decider_act act, const void *bytes, size_t size)
{
	for (size_t used = 0; used < size; used += PART_MAX) {
		size_t left = size - used;

		send_parts(act,
		           &(struct iovec){(char *)(uintptr_t)bytes + used,
		                           left < PART_MAX ? left : PART_MAX},
		           1);
	}
}

void ask_log(enum log_level level, const char *format, ...)
{
	uint32_t number = level;
	char text[1024];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof text, format, args);
	va_end(args);
	send_parts(ACT_LOG,
	           (const struct iovec[]){{&number, sizeof number}, {text, strlen(text) + 1}}, 2);
}

struct decider_begin *ask_begin(struct ask_fds *ret_fds)
{
	_cleanup_free_ struct frame *frame = malloc(sizeof *frame);
	struct decider_begin *begin = malloc(sizeof *begin);

	if (!frame || !begin || frame_receive(STDIN_FILENO, frame, 0) <= 0 ||
	    frame->length != sizeof *begin || frame->fd_count < 1)
		ask_leave();
	memcpy(begin, frame->bytes, sizeof *begin);
	*ret_fds = take_fds(frame);
	return begin;
}
