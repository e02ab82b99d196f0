/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-decoder: turns a client's bytes into structs of bounded size for the decider, and plans into
 * text, over the socket on descriptor 0.
 *
 * Assume that a parser has a bug. So the process drops all that could do harm, in the stages of
 * decoder_lock_down(), before it reads its first byte. Afterwards the kernel allows only read,
 * write and exit, and kills the process for any other call. All its memory is static. Its answers
 * are not trusted: the decider encodes the struct again and compares. Starts as root, or in
 * personal mode as the caller; ends without any privilege.
 */
#include "programs/decide/decider/decoder.h"
#include "helper/privilege/lockdown.h"
#include "programs/decide/decoder/plan_print.h"
#include "programs/filters/filters.h"
#include "protocol/codec.h"

#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/*
 * The address sanitizer makes extra system calls before a call that does not return, and seccomp
 * would kill the process for them.
 */
#define MAY_LEAVE __attribute__((no_sanitize("address")))

#define EXIT_LOCKING  1   /* a stage of decoder_lock_down() failed */
#define EXIT_CONFUSED 100 /* the decider sent an invalid question */

struct arguments {
	uint32_t id;
	const char *empty_dir;
};

/* A question, and the data that follows it. */
static struct {
	struct decoder_question question;
	union {
		uint8_t bytes[DECODER_INPUT_MAX];
		struct plan plan;
	};
} input;
static struct message message;
static struct message_token tokens[MESSAGE_TOKENS_MAX];
/* Buffer of the stream to which print_plan() writes. */
static char printed[sizeof(((struct decoder_part *)NULL)->bytes)];
static uint8_t
	output[sizeof(struct decoder_answer) + sizeof(union message_body) + MESSAGE_ARENA_MAX];

/* Exits by exit(2), since the filter does not allow exit_group(2). */
static _Noreturn void decoder_leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit, status);
}

/* Closes descriptors that the decider forgot to mark close-on-exec. */
static bool stage_descriptors(void)
{
	return syscall(SYS_close_range, 1u, ~0u, 0u) == 0;
}

static bool stage_arguments(int argc, char **argv, struct arguments *ret)
{
	ret->empty_dir = argc == 3 ? argv[2] : NULL;
	return argc == 3 && lockdown_parse_id(argv[1], &ret->id);
}

/*
 * Forbids new descriptors, processes, files and core dumps. With RLIMIT_CORE 1, unlike with 0, the
 * kernel does not run the host's core_pattern program either. core(5)
 */
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

/*
 * Needs CAP_SYS_CHROOT. This chroot is safe because root owns the empty directory, and this process
 * can make nothing in it.
 */
static bool stage_root(const char *empty_dir)
{
	return chroot(empty_dir) == 0 && chdir("/") == 0;
}

/* The filter is for where the kernel refuses strict mode: the process has a filter already. */
static bool stage_seccomp(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0 ||
	       (errno == EINVAL && lockdown_filter(&filters_decoder));
}

/*
 * Saves memory, since a connection may stay open for days. The start has mapped all pages of this
 * file (the kernel maps around each fault). Drops them; the few pages that the loop uses are mapped
 * again on access. A failure only costs memory.
 */
static void release_start_pages(void)
{
	extern const char __executable_start[], __etext[];
	uintptr_t page = 4096, from = ((uintptr_t)__executable_start + page - 1) & ~(page - 1);

	(void)madvise((void *)from, ((uintptr_t)__etext & ~(page - 1)) - from, MADV_DONTNEED);
}

/* Writes one packet. Exits if that fails: the decider is gone. */
MAY_LEAVE static void send_packet(const void *bytes, size_t size)
{
	if (write(STDIN_FILENO, bytes, size) != (ssize_t)size)
		decoder_leave(0);
}

/* Exits if a stage failed, after reporting the stage to the decider. */
static void decoder_need(bool done, const char *stage)
{
	struct decoder_answer answer = {.refused = 1};

	if (done)
		return;
	(void)error_set(&answer.error, YETT_E_HELPER_UNAVAILABLE, 0,
	                "yett-decoder could not begin");
	error_detail(&answer.error, "failed %s", stage);
	send_packet(&answer, sizeof answer);
	decoder_leave(EXIT_LOCKING);
}

static void decoder_lock_down(int argc, char **argv)
{
	struct arguments arguments;

	decoder_need(stage_descriptors(), "closing every descriptor but the socket");
	decoder_need(stage_arguments(argc, argv, &arguments), "reading its arguments");
	decoder_need(stage_limits(), "setting resource limits");
	if (geteuid() == 0 && *arguments.empty_dir) {
		decoder_need(stage_root(arguments.empty_dir), "leaving the file system");
		decoder_need(lockdown_bounding_set(), "emptying the bounding set");
		decoder_need(lockdown_ids(arguments.id, arguments.id),
		             "taking its own uid and gid");
	}
	decoder_need(lockdown_capabilities(), "dropping all capabilities");
	decoder_need(lockdown_undumpable(), "becoming undumpable");
	decoder_need(lockdown_no_new_privs(), "setting no_new_privs");
	/*
	 * If the decider died before this call, no signal comes, but the first read(2) returns end
	 * of file.
	 */
	decoder_need(lockdown_death_signal(), "setting its parent-death signal");
	release_start_pages();
	decoder_need(stage_seccomp(), "entering seccomp");
}

MAY_LEAVE static int decoder_decode(size_t length, struct yett_error *error)
{
	const struct message_scratch scratch = {.tokens = tokens, .capacity = ARRAY_SIZE(tokens)};
	uint64_t kind = input.question.task;

	if ((kind != MESSAGE_CREATE && kind != MESSAGE_MANAGE && kind != MESSAGE_RELAY &&
	     kind != MESSAGE_MOUNT) ||
	    length > DECODER_INPUT_MAX)
		decoder_leave(EXIT_CONFUSED);
	return message_decode_with(&scratch, (uint32_t)kind, input.bytes, length, &message, error);
}

static void decoder_decoder_answer(int refused, const struct yett_error *error)
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

/* The write function of a stream (fopencookie(3)), which sends the text to the decider in parts. */
static ssize_t write_parts(void *unused, const char *bytes, size_t size)
{
	(void)unused;
	for (size_t done = 0, part; done < size; done += part) {
		part = size - done < sizeof printed ? size - done : sizeof printed;
		send_part(bytes + done, part, false);
	}
	return (ssize_t)size;
}

/*
 * Opens the stream for print_plan(). All its memory is allocated here: the filter allows no further
 * allocation. Returns NULL if memory is short.
 */
static FILE *open_parts(void)
{
	FILE *parts = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_parts});

	return parts && setvbuf(parts, printed, _IOFBF, sizeof printed) == 0 ? parts : NULL;
}

/*
 * The decider made the plan, but its counts and texts are not trusted: plan_print() does not read
 * beyond `plan`.
 */
MAY_LEAVE static void print_plan(size_t length, FILE *parts)
{
	if (length < offsetof(struct plan, arena))
		decoder_leave(EXIT_CONFUSED);
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
		decoder_leave(EXIT_CONFUSED);
	decoder_lock_down(argc, argv);
	send_packet(&ready, sizeof ready);
	while ((n = read(STDIN_FILENO, &input, sizeof input)) >= (ssize_t)sizeof input.question) {
		size_t length = (size_t)n - sizeof input.question;
		struct yett_error error = {0};

		if (input.question.task == DECODER_PRINT)
			print_plan(length, parts);
		else
			decoder_decoder_answer(decoder_decode(length, &error), &error);
	}
	decoder_leave(0);
}
