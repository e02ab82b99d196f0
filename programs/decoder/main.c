/*
 * yett-decoder: turns bytes of a client into fixed-bound structs for the decider, and plans into
 * text, over the socket on descriptor 0.
 *
 * Theory of operation: a bug in a parser is assumed. So the process gives up everything it could do
 * harm with, in the stages of lock_down(), before it reads its first byte; after the last one the
 * kernel lets it read, write and exit, and kills it for anything else. All memory it works in is
 * static. What it answers is not believed: the decider encodes the struct again and compares.
 * Starts as root (or as the caller, in personal mode); ends as nobody at all.
 */
#include "programs/decider/decoder.h"
#include "helper/privilege/lockdown.h"
#include "programs/decoder/plan_print.h"
#include "protocol/codec.h"

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Before a call that does not return the address sanitizer makes calls of its own, which seccomp
 * would kill. */
#define MAY_LEAVE __attribute__((no_sanitize("address")))

#define EXIT_LOCKING  1   /* it could not drop what it has to */
#define EXIT_CONFUSED 100 /* the decider asked what it never asks */

struct arguments {
	uint32_t id;
	const char *empty_dir;
};

/* A question, with what follows it. */
static struct {
	struct decoder_question question;
	union {
		uint8_t bytes[DECODER_INPUT_MAX];
		struct plan plan;
	};
} input;
static struct message message;
static struct message_token tokens[MESSAGE_TOKENS_MAX];
static char
	printed[sizeof(((struct decoder_part *)NULL)->bytes)]; /* what the stream of print_plan()
                                                                  has not written yet */
static uint8_t
	output[sizeof(struct decoder_answer) + sizeof(union message_body) + MESSAGE_ARENA_MAX];

/* exit_group(2) is not among the calls that are left after the last stage. */
static _Noreturn void leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit, status);
}

/* Nothing the decider forgot to mark close-on-exec stays open. */
static bool stage_descriptors(void)
{
	return syscall(SYS_close_range, 1u, ~0u, 0u) == 0;
}

static bool stage_arguments(int argc, char **argv, struct arguments *ret)
{
	ret->empty_dir = argc == 3 ? argv[2] : NULL;
	return argc == 3 && lockdown_parse_id(argv[1], &ret->id);
}

/* No descriptor can be made any more, no process, no file, no core (1: core(5)). */
static bool stage_limits(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_NOFILE, 0},
		{RLIMIT_NPROC, 0},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_CORE, 1},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(64u << 20)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/* CAP_SYS_CHROOT. Safe because the directory is root's and empty, and this process can make nothing
 * in it. */
static bool stage_root(const char *empty_dir)
{
	return chroot(empty_dir) == 0 && chdir("/") == 0;
}

/* The same four calls as a filter: strict mode is refused (EINVAL) to a process that came with a
 * filter. */
static bool enter_filter(void)
{
	static const int calls[] = {SYS_read, SYS_write, SYS_exit, SYS_rt_sigreturn};

	return lockdown_filter(calls, ARRAY_SIZE(calls));
}

static bool stage_seccomp(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0 ||
	       (errno == EINVAL && enter_filter());
}

/*
 * A connection may stay open for days. What starting up has mapped of this file (all of it: the
 * kernel maps around each fault) is let go; the few pages of the loop come back by themselves.
 * Failing changes nothing but the memory shown.
 */
static void release_start_pages(void)
{
	extern const char __executable_start[], __etext[];
	uintptr_t page = 4096, from = ((uintptr_t)__executable_start + page - 1) & ~(page - 1);

	(void)madvise((void *)from, ((uintptr_t)__etext & ~(page - 1)) - from, MADV_DONTNEED);
}

/* A whole packet, or the end of the process: the decider is gone. */
MAY_LEAVE static void send_packet(const void *bytes, size_t size)
{
	if (write(STDIN_FILENO, bytes, size) != (ssize_t)size)
		leave(0);
}

/* Each stage is done, or the decider is told which one was not. */
static void need(bool done, const char *stage)
{
	struct decoder_answer answer = {.refused = 1};

	if (done)
		return;
	(void)error_set(&answer.error, YETT_E_HELPER_UNAVAILABLE, 0,
	                "yett-decoder could not begin");
	error_detail(&answer.error, "failed %s", stage);
	send_packet(&answer, sizeof answer);
	leave(EXIT_LOCKING);
}

static void lock_down(int argc, char **argv)
{
	struct arguments arguments;

	need(stage_descriptors(), "closing every descriptor but the socket");
	need(stage_arguments(argc, argv, &arguments), "reading its arguments");
	need(stage_limits(), "setting resource limits");
	if (geteuid() == 0 && *arguments.empty_dir) {
		need(stage_root(arguments.empty_dir), "leaving the file system");
		need(lockdown_bounding_set(), "emptying the bounding set");
		need(lockdown_ids(arguments.id, arguments.id), "taking its own uid and gid");
	}
	need(lockdown_capabilities(), "dropping all capabilities");
	need(lockdown_undumpable(), "becoming undumpable");
	need(lockdown_no_new_privs(), "setting no_new_privs");
	/* Had the decider died before, the first read would find the end of file. */
	need(lockdown_death_signal(), "tying its life to the decider's");
	release_start_pages();
	need(stage_seccomp(), "entering seccomp");
}

MAY_LEAVE static int decode(size_t length, struct yett_error *error)
{
	const struct message_scratch scratch = {.tokens = tokens, .capacity = ARRAY_SIZE(tokens)};
	uint64_t kind = input.question.task;

	if ((kind != MESSAGE_CREATE && kind != MESSAGE_MANAGE && kind != MESSAGE_RELAY &&
	     kind != MESSAGE_MOUNT) ||
	    length > DECODER_INPUT_MAX)
		leave(EXIT_CONFUSED);
	return message_decode_with(&scratch, (uint32_t)kind, input.bytes, length, &message, error);
}

static void answer(int refused, const struct yett_error *error)
{
	struct decoder_answer head = {.refused = refused != 0};
	size_t body_size = refused ? 0 : message_body_size(message.kind);

	if (refused)
		head.error = *error;
	else
		head.arena_used = message.arena_used;
	memcpy(output, &head, sizeof head);
	memcpy(output + sizeof head, &message.body, body_size);
	memcpy(output + sizeof head + body_size, message.arena, head.arena_used);
	send_packet(output, sizeof head + body_size + head.arena_used);
}

static void send_part(const char *bytes, size_t size, bool is_last)
{
	struct decoder_part part = {.is_last = is_last};

	memcpy(part.bytes, bytes, size);
	send_packet(&part, offsetof(struct decoder_part, bytes) + size);
}

/* A stream's write function (fopencookie(3)): goes to the decider in parts. */
static ssize_t write_parts(void *unused, const char *bytes, size_t size)
{
	(void)unused;
	for (size_t done = 0, part; done < size; done += part) {
		part = size - done < sizeof printed ? size - done : sizeof printed;
		send_part(bytes + done, part, false);
	}
	return (ssize_t)size;
}

/* What it needs is allocated here: once seccomp is entered, there is no more. NULL where memory is
 * short. */
static FILE *open_parts(void)
{
	FILE *parts = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_parts});

	return parts && setvbuf(parts, printed, _IOFBF, sizeof printed) == 0 ? parts : NULL;
}

/* No count or text of the plan is believed, though a decider made it: plan_print() stays inside
 * `plan`. */
MAY_LEAVE static void print_plan(size_t length, FILE *parts)
{
	if (length < offsetof(struct plan, arena))
		leave(EXIT_CONFUSED);
	plan_print(parts, &input.plan);
	(void)fflush(parts);
	send_part("", 0, true);
}

MAY_LEAVE int main(int argc, char **argv)
{
	FILE *parts = open_parts();
	struct decoder_answer ready = {0};
	ssize_t n;

	if (!parts)
		leave(EXIT_CONFUSED);
	lock_down(argc, argv);
	send_packet(&ready, sizeof ready);
	while ((n = read(STDIN_FILENO, &input, sizeof input)) >= (ssize_t)sizeof input.question) {
		size_t length = (size_t)n - sizeof input.question;
		struct yett_error error = {0};

		if (input.question.task == DECODER_PRINT)
			print_plan(length, parts);
		else
			answer(decode(length, &error), &error);
	}
	leave(0);
}
