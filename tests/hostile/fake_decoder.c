/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A yett-decoder that was captured, or is broken: honest until a request's host name says
 * "hostile-MODE".
 *
 * Started by a helper in the place of the real one (--libexec) and as privileged as that at its
 * start; it gives up nothing, since what it may do to the monitor is all that is looked at. "mode"
 * beside the program: fails at once.
 */
#include "programs/decide/decider/decoder.h"
#include "protocol/codec.h"
#include "tests/support/scripted.h"

#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <signal.h>

static struct {
	struct decoder_question question;
	uint8_t bytes[sizeof(struct plan)]; /* larger than any message */
} input;
static struct message message;
static char own_folder[PATH_MAX];

static void send_packet(const struct iovec *parts, size_t count)
{
	if (sendmsg(STDIN_FILENO,
	            &(struct msghdr){.msg_iov = (struct iovec *)(uintptr_t)parts,
	                             .msg_iovlen = count},
	            MSG_NOSIGNAL) < 0)
		_exit(0);
}

static void send_bytes(const void *bytes, size_t size)
{
	send_packet(&(struct iovec){(void *)(uintptr_t)bytes, size}, 1);
}

/* A head, and so many bytes of the message and of its arena. */
static void send_answer(uint32_t refused, uint32_t arena_used, size_t body_size, size_t arena_size)
{
	const struct decoder_answer head = {.refused = refused, .arena_used = arena_used};
	const struct iovec parts[] = {{(void *)(uintptr_t)&head, sizeof head},
	                              {&message.body, body_size},
	                              {message.arena, arena_size}};

	send_packet(parts, ARRAY_SIZE(parts));
}

static void send_message(void)
{
	send_answer(0, message.arena_used, message_body_size(message.kind), message.arena_used);
}

static void send_error(uint32_t code, uint32_t reason)
{
	struct decoder_answer answer = {.refused = 1, .error = {.code = code, .reason = reason}};

	memset(answer.error.message, 'A', sizeof answer.error.message); /* and no NUL */
	memset(answer.error.detail, 'B', sizeof answer.error.detail);
	send_bytes(&answer, sizeof answer);
}

/* --- what a captured decoder does with a request; `message` is what it really says --- */

SCRIPT_DO(crash, abort())
SCRIPT_DO(leave, _exit(0))
SCRIPT_DO(say_nothing, (void)pause())
SCRIPT_DO(close_socket, (void)close(STDIN_FILENO), (void)pause())
SCRIPT_DO(half_a_head, send_bytes("\0\0\0\0\0\0", 6))
SCRIPT_DO(half_an_answer, send_answer(0, 100, message_body_size(MESSAGE_CREATE), 0), (void)pause())
SCRIPT_DO(wrong_status, send_answer(7, 0, 0, 0))
SCRIPT_DO(small_body, send_answer(0, 0, 8, 0))
SCRIPT_DO(large_body, send_answer(0, 0, message_body_size(MESSAGE_CREATE) + 1, 0))
SCRIPT_DO(large_arena,
          send_answer(0, UINT32_MAX, message_body_size(MESSAGE_CREATE), MESSAGE_ARENA_MAX))
SCRIPT_DO(bad_code, send_error(0, 0))
SCRIPT_DO(large_code, send_error(9999, 0))
SCRIPT_DO(large_reason, send_error(YETT_E_PROTOCOL, 9999))
SCRIPT_DO(endless_texts, send_error(YETT_E_PROTOCOL, YETT_R_MALFORMED))

SCRIPT(flood)
{
	for (;;)
		send_message();
	return 0;
}

SCRIPT_DO(answer_twice, send_message(), send_message())

SCRIPT_DO(lie_about_memory, message.body.create.limits.memory_bytes = 1 << 20, send_message())
SCRIPT_DO(lie_about_pids, message.body.create.limits.pids += 1, send_message())
SCRIPT_DO(lie_about_plan, message.body.create.plan_only = !message.body.create.plan_only,
          send_message())
SCRIPT_DO(lie_about_mode, message.body.create.shares[0].mode = SHARE_RW, send_message())
SCRIPT_DO(lie_about_count, message.body.create.shares_count = 0, send_message())
SCRIPT_DO(huge_count, message.body.create.shares_count = UINT32_MAX, send_message())
SCRIPT_DO(huge_tmpfs_count, message.body.create.tmpfs_count = MESSAGE_TMPFS_MAX + 1, send_message())
SCRIPT_DO(text_outside, message.body.create.profile.offset = UINT32_MAX, send_message())
SCRIPT_DO(text_too_long, message.body.create.profile.length = UINT32_MAX, send_message())
SCRIPT_DO(no_nul,
          message.arena[message.body.create.profile.offset + message.body.create.profile.length] =
                  'x',
          send_message())
SCRIPT_DO(wrong_bool, memset(&message.body.create.plan_only, 0x55, 1), send_message())

SCRIPT_DO(lie_about_profile,
          memcpy(message.arena + message.body.create.profile.offset, "strict-",
                 message.body.create.profile.length),
          send_message())
SCRIPT_DO(lie_about_target, message.arena[message.body.create.shares[0].target.offset + 1] = 'X',
          send_message())

/* --- what it says of a plan, in answers or without; the real one is not printed --- */

static void print(uint32_t is_last, const char *text, size_t size)
{
	struct decoder_part part = {.is_last = is_last};

	memcpy(part.bytes, text, size);
	send_bytes(&part, offsetof(struct decoder_part, bytes) + size);
}

SCRIPT_DO(print_untruth, print(1, "sandbox of one step: /etc/shadow\0{}",
                               sizeof "sandbox of one step: /etc/shadow\0{}" - 1))
SCRIPT_DO(print_one_half, print(0, "a te", 4), print(1, "xt", 2))
SCRIPT_DO(print_half_a_part, print(0, "too little", 10), _exit(0))
SCRIPT_DO(print_half_a_head, send_bytes("\0\0", 2))

SCRIPT(print_large_part)
{
	static const char part[sizeof(struct decoder_part) + 1];

	send_bytes(part, sizeof part);
	return 0;
}

SCRIPT_DO(print_refusal, send_error(YETT_E_PROTOCOL, YETT_R_MALFORMED))

SCRIPT(print_without_end)
{
	static const char part[sizeof(struct decoder_part)];

	for (;;)
		send_bytes(part, sizeof part);
	return 0;
}

SCRIPT_RETURN(print_crash, crash())
SCRIPT_RETURN(print_nothing, say_nothing())

/* A plan comes after the request that is for it: the host name of the request counts for both, and
 * the script's name says of which of the two it is. */
static const struct script *find_script(bool printing)
{
	const char *host = message_text(&message, message.body.create.hostname);
	const struct script *script = script_find(script_wish(host).mode);

	return script && (strncmp(script->name, "print_", 6) == 0) == printing ? script : NULL;
}

static void answer_plan(void)
{
	const struct script *script = find_script(true);

	(void)(script ? script->run() : print_untruth());
}

static void answer(size_t length)
{
	struct decoder_answer refusal = {.refused = 1};
	const struct script *script;

	if (message_decode((uint32_t)input.question.task, input.bytes, length, &message,
	                   &refusal.error) != 0) {
		send_bytes(&refusal, sizeof refusal);
		return;
	}
	script = find_script(false);
	if (script)
		(void)script->run();
	else
		send_message();
}

/* Before it is ready. */
static void fail_at_start(void)
{
	char mode[32] = "", path[PATH_MAX + 8];
	ssize_t n = readlink("/proc/self/exe", own_folder, sizeof own_folder - 1);
	int fd;

	if (n <= 0)
		return;
	*strrchr(own_folder, '/') = '\0';
	(void)snprintf(path, sizeof path, "%s/mode", own_folder);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, mode, sizeof mode - 1) <= 0)
		return;
	if (strcmp(mode, "crash") == 0)
		abort();
	if (strcmp(mode, "leave") == 0)
		_exit(3);
	if (strcmp(mode, "hang") == 0)
		(void)pause();
	if (strcmp(mode, "wrong-byte") == 0)
		send_bytes("X", 1);
	for (int i = 0; strcmp(mode, "chatter") == 0 && i < 16; i++)
		send_answer(0, 0, 0, 0);
}

int main(void)
{
	ssize_t n;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	fail_at_start();
	send_answer(0, 0, 0, 0);
	while ((n = recv(STDIN_FILENO, &input, sizeof input, 0)) >=
	       (ssize_t)sizeof input.question) {
		if (input.question.task == DECODER_PRINT)
			answer_plan();
		else
			answer((size_t)n - sizeof input.question);
	}
	return 0;
}
