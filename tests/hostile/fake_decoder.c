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

static void crash(void)
{
	abort();
}
static void leave(void)
{
	_exit(0);
}
static void say_nothing(void)
{
	(void)pause();
}
static void close_socket(void)
{
	(void)close(STDIN_FILENO), (void)pause();
}
static void half_a_head(void)
{
	send_bytes("\0\0\0\0\0\0", 6);
}
static void half_an_answer(void)
{
	send_answer(0, 100, message_body_size(MESSAGE_CREATE), 0), (void)pause();
}
static void wrong_status(void)
{
	send_answer(7, 0, 0, 0);
}
static void small_body(void)
{
	send_answer(0, 0, 8, 0);
}
static void large_body(void)
{
	send_answer(0, 0, message_body_size(MESSAGE_CREATE) + 1, 0);
}
static void large_arena(void)
{
	send_answer(0, UINT32_MAX, message_body_size(MESSAGE_CREATE), MESSAGE_ARENA_MAX);
}
static void bad_code(void)
{
	send_error(0, 0);
}
static void large_code(void)
{
	send_error(9999, 0);
}
static void large_reason(void)
{
	send_error(YETT_E_PROTOCOL, 9999);
}
static void endless_texts(void)
{
	send_error(YETT_E_PROTOCOL, YETT_R_MALFORMED);
}

static void flood(void)
{
	for (;;)
		send_message();
}

static void answer_twice(void)
{
	send_message();
	send_message();
}

static void lie_about_memory(void)
{
	message.body.create.limits.memory_bytes = 1 << 20, send_message();
}
static void lie_about_pids(void)
{
	message.body.create.limits.pids += 1, send_message();
}
static void lie_about_plan(void)
{
	message.body.create.plan_only = !message.body.create.plan_only, send_message();
}
static void lie_about_mode(void)
{
	message.body.create.shares[0].mode = SHARE_RW, send_message();
}
static void lie_about_count(void)
{
	message.body.create.shares_count = 0, send_message();
}
static void huge_count(void)
{
	message.body.create.shares_count = UINT32_MAX, send_message();
}
static void huge_tmpfs_count(void)
{
	message.body.create.tmpfs_count = MESSAGE_TMPFS_MAX + 1, send_message();
}
static void text_outside(void)
{
	message.body.create.profile.offset = UINT32_MAX, send_message();
}
static void text_too_long(void)
{
	message.body.create.profile.length = UINT32_MAX, send_message();
}
static void no_nul(void)
{
	message.arena[message.body.create.profile.offset + message.body.create.profile.length] =
		'x',
							   send_message();
}
static void wrong_bool(void)
{
	memset(&message.body.create.plan_only, 0x55, 1), send_message();
}

static void lie_about_profile(void)
{
	memcpy(message.arena + message.body.create.profile.offset, "strict-",
	       message.body.create.profile.length);
	send_message();
}

static void lie_about_target(void)
{
	message.arena[message.body.create.shares[0].target.offset + 1] = 'X';
	send_message();
}

static const struct {
	const char *name;
	void (*run)(void);
} modes[] = {
#define MODE(function)              \
	{                           \
#function, function \
	}
	MODE(crash),
	MODE(leave),
	MODE(say_nothing),
	MODE(close_socket),
	MODE(half_a_head),
	MODE(half_an_answer),
	MODE(wrong_status),
	MODE(small_body),
	MODE(large_body),
	MODE(large_arena),
	MODE(bad_code),
	MODE(large_code),
	MODE(large_reason),
	MODE(endless_texts),
	MODE(flood),
	MODE(answer_twice),
	MODE(lie_about_memory),
	MODE(lie_about_pids),
	MODE(lie_about_plan),
	MODE(lie_about_mode),
	MODE(lie_about_count),
	MODE(huge_count),
	MODE(huge_tmpfs_count),
	MODE(text_outside),
	MODE(text_too_long),
	MODE(no_nul),
	MODE(wrong_bool),
	MODE(lie_about_profile),
	MODE(lie_about_target),
};

/* --- what it says of a plan, in answers or without; the real one is not printed --- */

static void print(uint32_t is_last, const char *text, size_t size)
{
	struct decoder_part part = {.is_last = is_last};

	memcpy(part.bytes, text, size);
	send_bytes(&part, offsetof(struct decoder_part, bytes) + size);
}

static void print_untruth(void)
{
	print(1, "sandbox of one step: /etc/shadow\0{}",
	      sizeof "sandbox of one step: /etc/shadow\0{}" - 1);
}
static void print_one_half(void)
{
	print(0, "a te", 4), print(1, "xt", 2);
}
static void print_half_a_part(void)
{
	print(0, "too little", 10), _exit(0);
}
static void print_half_a_head(void)
{
	send_bytes("\0\0", 2);
}
static void print_large_part(void)
{
	static const char part[sizeof(struct decoder_part) + 1];

	send_bytes(part, sizeof part);
}
static void print_refusal(void)
{
	send_error(YETT_E_PROTOCOL, YETT_R_MALFORMED);
}

static void print_without_end(void)
{
	static const char part[sizeof(struct decoder_part)];

	for (;;)
		send_bytes(part, sizeof part);
}

static const struct {
	const char *name;
	void (*run)(void);
} printing[] = {
	MODE(print_untruth),     MODE(print_one_half),   MODE(print_half_a_part),
	MODE(print_half_a_head), MODE(print_large_part), MODE(print_refusal),
	MODE(print_without_end), {"print_crash", crash}, {"print_nothing", say_nothing},
};

/* A plan comes after the request that is for it: what that says counts for both. */
static bool is_mode(const char *wanted)
{
	const char *host = message_text(&message, message.body.create.hostname);
	char name[64];

	if (strncmp(host, "hostile-", 8) != 0)
		return false;
	(void)snprintf(name, sizeof name, "%s", host + 8);
	for (char *at = name; *at; at++) /* a host name has no '_' */
		*at = *at == '-' ? '_' : *at;
	return strcmp(wanted, name) == 0;
}

static void answer_plan(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(printing); i++) {
		if (is_mode(printing[i].name)) {
			printing[i].run();
			return;
		}
	}
	print_untruth();
}

static void answer(size_t length)
{
	struct decoder_answer refusal = {.refused = 1};

	if (message_decode((uint32_t)input.question.task, input.bytes, length, &message,
	                   &refusal.error) != 0) {
		send_bytes(&refusal, sizeof refusal);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		if (is_mode(modes[i].name)) {
			modes[i].run();
			return;
		}
	}
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
