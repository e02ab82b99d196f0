/*
 * yett-decoder: turns bytes of a client into fixed-bound structs for the monitor, and plans into text, over the socket on descriptor 0.
 *
 * Theory of operation: a bug in a parser is assumed. So the process gives up everything it could do harm with, in the
 * stages of decoder.h, before it reads its first byte; after the last one the kernel lets it read, write and exit,
 * and kills it for anything else. All memory it works in is static. What it answers is not believed: the monitor
 * encodes the struct again and compares. Starts as root (or as the caller, in personal mode); ends as nobody at all.
 */
#include "helper/monitor/decoder.h"
#include "helper/privilege/lockdown.h"
#include "programs/decoder/plan_print.h"
#include "protocol/codec.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "the architecture's AUDIT_ARCH is not known here"
#endif

/* Before a call that does not return the address sanitizer makes calls of its own, which seccomp would kill. */
#define MAY_LEAVE __attribute__((no_sanitize("address")))

struct arguments {
	uid_t uid;
	gid_t gid;
	const char *empty_dir;
};

static uint8_t input[DECODER_INPUT_MAX];
static struct message message;
static struct message_token tokens[MESSAGE_TOKENS_MAX];
static struct plan plan;
static char printed[DECODER_PART_MAX]; /* what the stream of print_plan() has not written yet */
static uint8_t output[sizeof(struct decoder_answer) + sizeof(union message_body) + MESSAGE_ARENA_MAX];

/* exit_group(2) is not among the calls that are left after the last stage. */
static _Noreturn void leave(int status)
{
	for (;;)
		(void)syscall(SYS_exit, status);
}

/* Nothing the monitor forgot to mark close-on-exec stays open. */
static bool stage_descriptors(void)
{
	return syscall(SYS_close_range, 1u, ~0u, 0u) == 0;
}

static bool stage_arguments(int argc, char **argv, struct arguments *ret)
{
	ret->empty_dir = argc == 4 ? argv[3] : NULL;
	return argc == 4 && lockdown_parse_id(argv[1], &ret->uid) && lockdown_parse_id(argv[2], &ret->gid);
}

/* No descriptor can be made any more, no process, no file, no core (1: core(5)). */
static bool stage_limits(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_NOFILE, 0}, {RLIMIT_NPROC, 0}, {RLIMIT_FSIZE, 0}, {RLIMIT_CORE, 1}, {RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(64u << 20)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/* CAP_SYS_CHROOT. Safe because the directory is root's and empty, and this process can make nothing in it. */
static bool stage_root(const char *empty_dir)
{
	return chroot(empty_dir) == 0 && chdir("/") == 0;
}

/* The same four calls as a filter: strict mode is refused (EINVAL) to a process that came with a filter. */
static bool enter_filter(void)
{
	const uint32_t kill = SECCOMP_RET_KILL_PROCESS;
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, kill),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_read, 4, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, kill),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = ARRAY_SIZE(program), .filter = program};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}

static bool stage_seccomp(void)
{
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0 || (errno == EINVAL && enter_filter());
}

/*
 * A connection may stay open for days. What starting up has mapped of this file (all of it: the kernel maps around each
 * fault) is let go; the few pages of the loop come back by themselves. Failing changes nothing but the memory shown.
 */
static void release_start_pages(void)
{
	extern const char __executable_start[], __etext[];
	uintptr_t page = 4096, from = ((uintptr_t)__executable_start + page - 1) & ~(page - 1);

	(void)madvise((void *)from, ((uintptr_t)__etext & ~(page - 1)) - from, MADV_DONTNEED);
}

static void need(bool done, enum decoder_stage stage)
{
	if (!done)
		leave((int)stage);
}

static void lock_down(int argc, char **argv)
{
	struct arguments arguments;

	need(stage_descriptors(), DECODER_DESCRIPTORS);
	need(stage_arguments(argc, argv, &arguments), DECODER_ARGUMENTS);
	need(stage_limits(), DECODER_LIMITS);
	if (geteuid() == 0 && *arguments.empty_dir) {
		need(stage_root(arguments.empty_dir), DECODER_ROOT);
		need(lockdown_bounding_set(), DECODER_BOUNDING_SET);
		need(lockdown_ids(arguments.uid, arguments.gid), DECODER_IDS);
	}
	need(lockdown_capabilities(), DECODER_CAPABILITIES);
	need(lockdown_undumpable(), DECODER_UNDUMPABLE);
	need(lockdown_no_new_privs(), DECODER_NO_NEW_PRIVS);
	/* Had the monitor died before, the first read would find the end of file. */
	need(lockdown_death_signal(), DECODER_DEATH_SIGNAL);
	release_start_pages();
	need(stage_seccomp(), DECODER_SECCOMP);
}

/* Fills buffer[0 … size), or ends the process: the monitor is gone. */
MAY_LEAVE static void read_all(void *buffer, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = read(STDIN_FILENO, (uint8_t *)buffer + done, size - done);

		if (n <= 0)
			leave(0);
		done += (size_t)n;
	}
}

MAY_LEAVE static void write_all(const void *buffer, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = write(STDIN_FILENO, (const uint8_t *)buffer + done, size - done);

		if (n <= 0)
			leave(0);
		done += (size_t)n;
	}
}

MAY_LEAVE static int decode(const struct decoder_question *question, struct yett_error *error)
{
	const struct message_scratch scratch = {.tokens = tokens, .capacity = ARRAY_SIZE(tokens)};

	if (question->task != MESSAGE_CREATE && question->task != MESSAGE_MANAGE)
		leave(DECODER_EXIT_CONFUSED);
	return message_decode_with(&scratch, question->task, input, question->length, &message, error);
}

static void answer(int refused, const struct yett_error *error)
{
	struct decoder_answer head = {.status = 1, .body_size = sizeof *error};
	const void *body = error;
	uint8_t *end = output + sizeof head;

	if (!refused) {
		body = &message.body;
		head = (struct decoder_answer){.body_size = (uint32_t)message_body_size(message.kind), .arena_used = message.arena_used};
	}
	memcpy(output, &head, sizeof head);
	memcpy(end, body, head.body_size);
	memcpy(end + head.body_size, message.arena, head.arena_used);
	write_all(output, sizeof head + head.body_size + head.arena_used);
}

/* A stream's write function (fopencookie(3)): goes to the monitor in parts. */
static ssize_t write_parts(void *unused, const char *bytes, size_t size)
{
	(void)unused;
	for (size_t done = 0; done < size;) {
		struct decoder_answer head = {.body_size = size - done < DECODER_PART_MAX ? (uint32_t)(size - done) : DECODER_PART_MAX};

		write_all(&head, sizeof head);
		write_all(bytes + done, head.body_size);
		done += head.body_size;
	}
	return (ssize_t)size;
}

/* What it needs is allocated here: once seccomp is entered, there is no more. NULL where memory is short. */
static FILE *open_parts(void)
{
	FILE *parts = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_parts});

	return parts && setvbuf(parts, printed, _IOFBF, sizeof printed) == 0 ? parts : NULL;
}

/* No count or text of the plan is believed, though a monitor made it: plan_print() stays inside `plan`. */
MAY_LEAVE static void print_plan(uint32_t length, FILE *parts)
{
	const struct decoder_answer end = {0};

	if (length < offsetof(struct plan, arena) || length > sizeof plan)
		leave(DECODER_EXIT_CONFUSED);
	read_all(&plan, length);
	plan_print(parts, &plan);
	(void)fflush(parts);
	write_all(&end, sizeof end);
}

int main(int argc, char **argv)
{
	FILE *parts = open_parts();

	if (!parts)
		leave(DECODER_EXIT_CONFUSED);
	lock_down(argc, argv);
	write_all("R", 1);
	for (;;) {
		struct decoder_question question;
		struct yett_error error = {0};

		read_all(&question, sizeof question);
		if (question.task == DECODER_PRINT) {
			print_plan(question.length, parts);
			continue;
		}
		if (question.length > sizeof input)
			leave(DECODER_EXIT_CONFUSED);
		read_all(input, question.length);
		answer(decode(&question, &error), &error);
	}
}
