/*
 * See decoder.h. The decider's side: starts yett-decoder, passes bytes to it, checks the sizes of
 * what comes back.
 *
 * Without privilege, but for the start. Never looks into the bytes it passes on, never follows a
 * number from the decoder further than its bound, and never waits without a deadline.
 */
#include "programs/decider/decoder.h"

#include "base/clock.h"
#include "base/kernel.h"
#include "protocol/encode.h"
#include "protocol/envelope.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define END_WAIT_MS 100

int decoder_start(const char *libexec, uint32_t id, const char *empty_dir,
                  struct decoder *ret_decoder)
{
	char id_text[16];
	char *argv[] = {(char *)"yett-decoder", id_text, (char *)empty_dir, NULL};

	*ret_decoder = DECODER_NONE;
	(void)snprintf(id_text, sizeof id_text, "%u", id);
	return program_start(libexec, argv, NULL, 0,
	                     &ret_decoder->program); /* which closes what else is open */
}

void decoder_end(struct decoder *decoder)
{
	decoder->program.socket = fd_close(decoder->program.socket);
	if (decoder->program.pid > 0)
		(void)!kernel_wait_end(decoder->program.pid, END_WAIT_MS);
}

/* Says in `error` how the decoder ended, if it did. Does not reap it. */
static void explain_end(const struct decoder *decoder, struct yett_error *error)
{
	siginfo_t info = {0};

	(void)error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE,
	                "yett-decoder ended unexpectedly");
	/* Its socket closes a moment before it can be waited for; one that only closed its socket
	 * is not waited for. */
	if (kernel_wait_end(decoder->program.pid, END_WAIT_MS) &&
	    waitid(P_PID, (id_t)decoder->program.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid != 0)
		error_detail(error, info.si_code == CLD_EXITED ? "exit status %d" : "signal %d",
		             info.si_status);
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
	decoder->program.socket = fd_close(decoder->program.socket);
	return r;
}

/* Takes an answer: 0, with the message of this kind (0: none is to come); why the decoder refused;
 * or -errno. */
static int hear(const struct decoder *decoder, uint32_t kind, uint64_t deadline_ms,
                struct message *message, struct yett_error *error)
{
	struct decoder_answer answer;
	size_t body_size = message_body_size(kind), length;
	struct iovec parts[] = {{&answer, sizeof answer},
	                        {kind ? &message->body : NULL, body_size},
	                        {kind ? message->arena : NULL, MESSAGE_ARENA_MAX}};
	ssize_t n = program_hear(&decoder->program, parts, kind ? 3 : 1, deadline_ms);

	if (n < 0)
		return (int)n;
	/* Numbers and the ends of texts are checked before anyone uses them. */
	if (n == sizeof answer && answer.refused == 1 && error_is_sound(&answer.error)) {
		(void)error_set(error, answer.error.code, answer.error.reason, "%s",
		                answer.error.message);
		error_detail(error, "%s", answer.error.detail);
		return (int)answer.error.code;
	}
	if ((size_t)n < sizeof answer || answer.refused ||
	    (size_t)n != sizeof answer + body_size + answer.arena_used)
		return -EPROTO;
	if (!kind)
		return 0;
	message->kind = kind;
	message->arena_used = answer.arena_used;
	/* No count, text or number of it is handed on that the tables do not allow. */
	return message_encode(message, NULL, MESSAGE_PACKET_MAX - envelope_size((uint16_t)kind),
	                      &length) == 0
	               ? 0
	               : -EPROTO;
}

int decoder_wait_ready(struct decoder *decoder, int timeout_ms, struct yett_error *error)
{
	int r;

	if (decoder->is_ready)
		return 0;
	r = decoder->program.socket < 0
	            ? -EPIPE
	            : hear(decoder, 0, clock_now_ms() + (uint64_t)timeout_ms, NULL, error);
	decoder->is_ready = r == 0;
	if (r > 0) /* it says what it could not drop */
		return decoder->program.socket = fd_close(decoder->program.socket), -EPIPE;
	return r < 0 ? decoder_fail(decoder, r, error) : 0;
}

/* Sends the question, once the decoder is ready. 0, or a negative number after decoder_fail(). */
static int ask(struct decoder *decoder, const struct decoder_task *task, struct yett_error *error)
{
	struct decoder_question question = {task->kind};
	const struct iovec parts[] = {{&question, sizeof question},
	                              {(void *)(uintptr_t)task->bytes, task->length}};
	int r = decoder_wait_ready(decoder, task->timeout_ms, error);

	if (r < 0)
		return r;
	if (decoder->program.socket < 0)
		return -EPIPE;
	r = program_ask(&decoder->program, parts, ARRAY_SIZE(parts));
	return r < 0 ? decoder_fail(decoder, r, error) : 0;
}

int decoder_run(struct decoder *decoder, const struct decoder_task *task,
                struct message *ret_message, struct yett_error *error)
{
	uint64_t deadline_ms = clock_now_ms() + (uint64_t)task->timeout_ms;
	int r = task->length > DECODER_INPUT_MAX ? -EMSGSIZE : ask(decoder, task, error);

	if (r < 0)
		return r;
	r = hear(decoder, task->kind, deadline_ms, ret_message, error);
	return r < 0 ? decoder_fail(decoder, r, error) : r;
}

/* Takes what is printed, part by part, and does not look at it. */
static int read_printed(const struct decoder *decoder, int memfd, uint64_t deadline_ms)
{
	struct decoder_part part;
	const ssize_t head = offsetof(struct decoder_part, bytes);

	for (size_t used = 0; used <= DECODER_PRINTED_MAX;) {
		ssize_t n = program_hear(&decoder->program, &(struct iovec){&part, sizeof part}, 1,
		                         deadline_ms);

		/* An empty one that is not the last would go on for ever. */
		if (n < head || part.is_last > 1 || (n == head && !part.is_last))
			return n < 0 ? (int)n : -EPROTO;
		if (write(memfd, part.bytes, (size_t)(n - head)) != n - head)
			return errno ? -errno : -EIO;
		if (part.is_last)
			return 0;
		used += (size_t)(n - head);
	}
	return -EFBIG;
}

int decoder_print(struct decoder *decoder, const struct plan *plan, int timeout_ms, int *ret_memfd,
                  struct yett_error *error)
{
	_cleanup_fd_ int memfd = memfd_create("yett-plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const struct decoder_task task = {
		DECODER_PRINT, plan, offsetof(struct plan, arena) + plan->arena_used, timeout_ms};
	uint64_t deadline_ms = clock_now_ms() + (uint64_t)timeout_ms;
	int r = memfd < 0 ? -errno : ask(decoder, &task, error);

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
