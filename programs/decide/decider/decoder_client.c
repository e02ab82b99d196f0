/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See decoder.h. Starts yett-decoder, sends bytes to it, and checks the sizes of its answers.
 *
 * Runs without privilege, except for the start. Never parses the bytes that it sends, never uses a
 * number from the decoder beyond its bound, and never waits without a deadline.
 */
#include "programs/decide/decider/decoder.h"

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
	/* The decoder closes all other descriptors that it inherits. */
	return program_start(libexec, argv, NULL, 0, &ret_decoder->program);
}

void decoder_end(struct decoder *decoder)
{
	decoder->program.socket = fd_close(decoder->program.socket);
	if (decoder->program.pid > 0)
		(void)!kernel_wait_end(decoder->program.pid, END_WAIT_MS);
}

/* Explains in `error` how the decoder ended, if it did. Does not reap the decoder. */
static void explain_end(const struct decoder *decoder, struct yett_error *error)
{
	siginfo_t info = {0};

	(void)error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE,
	                "yett-decoder ended unexpectedly");
	/*
	 * The socket of an exiting process closes a moment before waitid(2) can see the end. A
	 * decoder that closed its socket but still runs is not waited for any longer.
	 */
	if (kernel_wait_end(decoder->program.pid, END_WAIT_MS) &&
	    waitid(P_PID, (id_t)decoder->program.pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid != 0)
		error_detail(error, info.si_code == CLD_EXITED ? "exit status %d" : "signal %d",
		             info.si_status);
}

/* Closes the decoder's socket, so that the decoder is not asked again. Returns `r`. */
static int decoder_fail(struct decoder *decoder, int r, struct yett_error *error)
{
	if (r == -EPIPE)
		explain_end(decoder, error);
	else
		(void)error_set(error, YETT_E_HELPER_UNAVAILABLE, YETT_R_NONE, "%s",
		                r == -ETIMEDOUT ? "yett-decoder did not answer in time"
		                : r == -EFBIG   ? "the plan is too long to be sent"
		                                : "yett-decoder sent an invalid answer");
	decoder->program.socket = fd_close(decoder->program.socket);
	return r;
}

/*
 * Receives an answer with a message of `kind`, or without a message if `kind` is 0. Returns 0; the
 * code with which the decoder refused; or -errno.
 */
static int decoder_client_hear(const struct decoder *decoder, uint32_t kind, uint64_t deadline_ms,
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
	/* error_is_sound() checks numbers and the terminators of texts before any use. */
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
	/* Encoding checks every count, text and number of the message against the tables. */
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
	            : decoder_client_hear(decoder, 0, clock_now_ms() + (uint64_t)timeout_ms, NULL,
	                                  error);
	decoder->is_ready = r == 0;
	/* The decoder reports which privilege it could not drop. */
	if (r > 0)
		return decoder->program.socket = fd_close(decoder->program.socket), -EPIPE;
	return r < 0 ? decoder_fail(decoder, r, error) : 0;
}

/* Waits until the decoder is ready and sends the question. Returns 0 or -errno. */
static int decoder_client_ask(struct decoder *decoder, const struct decoder_task *task,
                              struct yett_error *error)
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
	int r = task->length > DECODER_INPUT_MAX ? -EMSGSIZE
	                                         : decoder_client_ask(decoder, task, error);

	if (r < 0)
		return r;
	r = decoder_client_hear(decoder, task->kind, deadline_ms, ret_message, error);
	return r < 0 ? decoder_fail(decoder, r, error) : r;
}

/* Copies the printed text into `memfd`, part by part, without parsing it. */
static int read_printed(const struct decoder *decoder, int memfd, uint64_t deadline_ms)
{
	struct decoder_part part;
	const ssize_t head = offsetof(struct decoder_part, bytes);

	for (size_t used = 0; used <= DECODER_PRINTED_MAX;) {
		ssize_t n = program_hear(&decoder->program, &(struct iovec){&part, sizeof part}, 1,
		                         deadline_ms);

		/* Empty parts that are not the last could keep this loop running forever. */
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
	int r = memfd < 0 ? -errno : decoder_client_ask(decoder, &task, error);

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
