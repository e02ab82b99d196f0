/*
 * See decoder.h. The monitor's side: starts yett-decoder, passes bytes to it, checks the sizes of what comes back.
 *
 * Runs as root inside the monitor. Never looks into the bytes it passes on, never follows a number from the decoder
 * further than its bound, and never waits without a deadline.
 */
#include "helper/monitor/decoder.h"

#include "base/clock.h"
#include "base/spawn.h"
#include "protocol/encode.h"
#include "protocol/envelope.h"

#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define READY_BYTE  'R'
#define END_WAIT_MS 100

int decoder_start(const char *path, uid_t uid, gid_t gid, const char *empty_dir, struct decoder *ret_decoder)
{
	struct decoder decoder = DECODER_NONE;
	char uid_text[16], gid_text[16];
	char *argv[] = {(char *)"yett-decoder", uid_text, gid_text, (char *)empty_dir, NULL};
	int r;

	*ret_decoder = DECODER_NONE;
	(void)snprintf(uid_text, sizeof uid_text, "%u", uid);
	(void)snprintf(gid_text, sizeof gid_text, "%u", gid);
	r = spawn_connected(path, argv, SOCK_STREAM, &decoder.socket, &decoder.pid); /* which closes what else is open */
	if (r == 0) {
		/* Still the same process: it cannot be reaped before decoder_free() does it. */
		decoder.pidfd = pidfd_open(decoder.pid, 0);
		r = decoder.pidfd < 0 ? -errno : 0;
	}
	if (r < 0) {
		decoder_free(&decoder);
		return r;
	}
	*ret_decoder = decoder;
	return 0;
}

void decoder_free(struct decoder *decoder)
{
	if (!decoder)
		return;
	decoder->socket = fd_close(decoder->socket);
	if (decoder->pid > 0) {
		/* Safe because the child is not reaped yet: even its bare pid is still its own. */
		if (decoder->pidfd < 0 || pidfd_send_signal(decoder->pidfd, SIGKILL, NULL, 0) < 0)
			(void)kill(decoder->pid, SIGKILL);
		while (waitpid(decoder->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	decoder->pidfd = fd_close(decoder->pidfd);
	*decoder = DECODER_NONE;
}

/* Says in `error` how the decoder ended, if it did; its exit status names the stage that failed. Does not reap it. */
static void explain_end(const struct decoder *decoder, struct yett_error *error)
{
	struct pollfd p = {.fd = decoder->pidfd, .events = POLLIN};
	siginfo_t info = {0};

	/* Its socket closes a moment before it can be waited for; one that only closed its socket is not waited for. */
	(void)poll(&p, 1, END_WAIT_MS);
	(void)error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE, "yett-decoder ended unexpectedly");
	if (waitid(P_PID, (id_t)decoder->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid == 0)
		return;
	if (info.si_code != CLD_EXITED) {
		error_detail(error, "signal %d", info.si_status);
		return;
	}
	switch (info.si_status) {
#define X(name, number, text)                           \
	case DECODER_##name:                            \
		error_detail(error, "failed %s", text); \
		break;
		DECODER_STAGES(X)
#undef X
	default:
		error_detail(error, "exit status %d", info.si_status);
	}
}

/* Gives up on the decoder: it is not asked again. Returns `r`. */
static int decoder_fail(struct decoder *decoder, int r, struct yett_error *error)
{
	if (r == -EPIPE)
		explain_end(decoder, error);
	else
		(void)error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE, "%s",
		                r == -ETIMEDOUT ? "yett-decoder did not answer in time"
		                : r == -EFBIG   ? "the plan is longer than can be told"
		                                : "yett-decoder gave an answer that cannot be");
	decoder->socket = fd_close(decoder->socket);
	return r;
}

/* Moves exactly `size` bytes, in or out, before the deadline. -EPIPE when the decoder is gone. */
static int transfer(const struct decoder *decoder, void *bytes, size_t size, short events, int64_t deadline_ms)
{
	struct pollfd wait = {.fd = decoder->socket, .events = events};

	for (size_t done = 0; done < size;) {
		uint8_t *at = (uint8_t *)bytes + done;
		ssize_t n = events == POLLIN ? recv(decoder->socket, at, size - done, MSG_DONTWAIT)
		                             : send(decoder->socket, at, size - done, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n == 0 || errno == EPIPE || errno == ECONNRESET)
			return -EPIPE;
		if (errno == EAGAIN) {
			int64_t left_ms = deadline_ms - (int64_t)clock_now_ms();

			n = poll(&wait, 1, left_ms > 0 ? (int)left_ms : 0);
			if (n == 0)
				return -ETIMEDOUT;
		}
		if (n < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

int decoder_wait_ready(struct decoder *decoder, int timeout_ms, struct yett_error *error)
{
	uint8_t byte;
	int r;

	if (decoder->is_ready)
		return 0;
	r = decoder->socket < 0 ? -EPIPE : transfer(decoder, &byte, sizeof byte, POLLIN, (int64_t)clock_now_ms() + timeout_ms);
	if (r == 0 && byte != READY_BYTE)
		r = -EPROTO;
	if (r < 0)
		return decoder_fail(decoder, r, error);
	decoder->is_ready = true;
	return 0;
}

/* Reads why the decoder refused. Its numbers and the ends of its texts are checked before anyone uses them. */
static int read_refusal(const struct decoder *decoder, int64_t deadline_ms, struct yett_error *error)
{
	struct yett_error e;
	int r = transfer(decoder, &e, sizeof e, POLLIN, deadline_ms);

	if (r < 0)
		return r;
	if (!error_is_sound(&e))
		return -EPROTO;
	(void)error_set(error, e.code, e.reason, "%s", e.message);
	error_detail(error, "%s", e.detail);
	return (int)e.code;
}

static int read_answer(const struct decoder *decoder, uint32_t kind, int64_t deadline_ms, struct message *message, struct yett_error *error)
{
	struct decoder_answer answer;
	size_t length;
	int r = transfer(decoder, &answer, sizeof answer, POLLIN, deadline_ms);

	if (r < 0)
		return r;
	if (answer.status == 1 && answer.body_size == sizeof(struct yett_error) && answer.arena_used == 0)
		return read_refusal(decoder, deadline_ms, error);
	if (answer.status != 0 || answer.body_size != message_body_size(kind) || answer.arena_used > MESSAGE_ARENA_MAX)
		return -EPROTO;
	message->kind = kind;
	message->arena_used = answer.arena_used;
	r = transfer(decoder, &message->body, answer.body_size, POLLIN, deadline_ms);
	if (r == 0)
		r = transfer(decoder, message->arena, answer.arena_used, POLLIN, deadline_ms);
	/* No count, text or number of it is handed on that the tables do not allow. */
	return r < 0 ? r : message_encode(message, NULL, MESSAGE_PACKET_MAX - envelope_size((uint16_t)kind), &length) == 0 ? 0 : -EPROTO;
}

/* Sends the question, once the decoder is ready. 0, or a negative number after decoder_fail(). */
static int ask(struct decoder *decoder, const struct decoder_task *task, int64_t deadline_ms, struct yett_error *error)
{
	struct decoder_question question = {.task = task->kind, .length = (uint32_t)task->length};
	int r = decoder_wait_ready(decoder, task->timeout_ms, error);
	uint8_t unasked;

	if (r < 0)
		return r;
	if (decoder->socket < 0)
		return -EPIPE;
	/* What it said without being asked would pass for the answer to this question. */
	if (recv(decoder->socket, &unasked, sizeof unasked, MSG_DONTWAIT | MSG_PEEK) > 0)
		return decoder_fail(decoder, -EPROTO, error);
	r = transfer(decoder, &question, sizeof question, POLLOUT, deadline_ms);
	if (r == 0)
		r = transfer(decoder, (void *)task->bytes, task->length, POLLOUT, deadline_ms);
	return r < 0 ? decoder_fail(decoder, r, error) : 0;
}

int decoder_run(struct decoder *decoder, const struct decoder_task *task, struct message *ret_message, struct yett_error *error)
{
	int64_t deadline_ms = (int64_t)clock_now_ms() + task->timeout_ms;
	int r = task->length > DECODER_INPUT_MAX ? -EMSGSIZE : ask(decoder, task, deadline_ms, error);

	if (r < 0)
		return r;
	r = read_answer(decoder, task->kind, deadline_ms, ret_message, error);
	return r < 0 ? decoder_fail(decoder, r, error) : r;
}

/* Takes what is printed, part by part, and does not look at it. */
static int read_printed(const struct decoder *decoder, int memfd, int64_t deadline_ms)
{
	char part[DECODER_PART_MAX];
	struct decoder_answer head;

	for (size_t used = 0; used <= DECODER_PRINTED_MAX; used += head.body_size) {
		int r = transfer(decoder, &head, sizeof head, POLLIN, deadline_ms);

		if (r == 0 && (head.status != 0 || head.body_size > sizeof part || head.arena_used != 0))
			r = -EPROTO;
		if (r == 0)
			r = transfer(decoder, part, head.body_size, POLLIN, deadline_ms);
		if (r < 0 || head.body_size == 0)
			return r;
		if (write(memfd, part, head.body_size) != (ssize_t)head.body_size)
			return errno ? -errno : -EIO;
	}
	return -EFBIG;
}

int decoder_print(struct decoder *decoder, const struct plan *plan, int timeout_ms, int *ret_memfd, struct yett_error *error)
{
	_cleanup_fd_ int memfd = memfd_create("yett-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const struct decoder_task task = {DECODER_PRINT, plan, offsetof(struct plan, arena) + plan->arena_used, timeout_ms};
	int64_t deadline_ms = (int64_t)clock_now_ms() + timeout_ms;
	int r = memfd < 0 ? -errno : ask(decoder, &task, deadline_ms, error);

	if (r < 0)
		return r;
	r = read_printed(decoder, memfd, deadline_ms);
	if (r < 0)
		return decoder_fail(decoder, r, error);
	r = fd_seal(memfd);
	if (r == 0)
		*ret_memfd = steal_fd(&memfd);
	return r;
}
