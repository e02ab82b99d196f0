/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real yett-decoder (in $YETT_LIBEXEC), and decoders that lie: this program, executed by that
 * name with a lie for its empty_dir.
 *
 * Works as root and as an ordinary user; what only root can see or have is checked as root, and
 * said if it is not.
 */

#include <dirent.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/support/testing.h"
#include "tests/support/waiting.h"
#include "programs/decide/decider/plan_add.h"
#include "base/kernel.h"
#include "programs/decide/decider/decoder.h"
#include "protocol/codec.h"
#include "tests/unit/printed.h"

#define DECODER_ID 1879048193u

static struct message message;
static char liars[] =
	"/tmp/yett-test-liars-XXXXXX"; /* a folder in which yett-decoder is this program */
static char empty_dir[] = "/tmp/yett-test-decoder-XXXXXX";

static uid_t expected_id(void)
{
	return geteuid() == 0 ? DECODER_ID : geteuid();
}

/* As the monitor ends a decider, and the decider's end its decoder: whatever that is held up by. */
static void end(struct decoder *decoder)
{
	pid_t pid = decoder->program.pid;

	fd_close(decoder->program.socket);
	*decoder = DECODER_NONE;
	if (pid > 0 && (kill(pid, SIGKILL) < 0 || waitpid(pid, NULL, 0) != pid))
		fail_msg("the decoder could not be ended");
}

static struct decoder start_real(void)
{
	struct decoder decoder;

	assert_non_null(getenv("YETT_LIBEXEC"));
	assert_int_equal(decoder_start(getenv("YETT_LIBEXEC"), DECODER_ID, empty_dir, &decoder), 0);
	return decoder;
}

static int run(struct decoder *decoder, uint32_t kind, const void *bytes, size_t length,
               struct yett_error *error)
{
	struct decoder_task task = {.kind = kind,
	                            .bytes = bytes,
	                            .length = length,
	                            .timeout_ms = waiting_deadline_ms()};

	return decoder_run(decoder, &task, &message, error);
}

/* What a decoder that answers refuses. */
static int run_nothing(struct decoder *decoder, struct yett_error *error)
{
	return run(decoder, MESSAGE_CREATE, "", 0, error);
}

static size_t make_body(uint8_t body[1024])
{
	size_t length;

	memset(&message, 0, sizeof message);
	message.kind = MESSAGE_CREATE;
	assert_int_equal(message_add_text(&message, "build", &message.body.create.profile), 0);
	message.body.create.shares_count = 1;
	assert_int_equal(message_add_text(&message, "/work", &message.body.create.shares[0].target),
	                 0);
	assert_int_equal(message_encode(&message, body, 1024, &length), 0);
	memset(&message, 0, sizeof message);
	return length;
}

TEST(a_body_is_decoded_to_what_was_encoded)
{
	_cleanup_(end) struct decoder decoder = start_real();
	struct yett_error error = {0};
	uint8_t body[1024];
	size_t length = make_body(body);

	for (unsigned i = 0; i < 100; i++) {
		assert_int_equal(run(&decoder, MESSAGE_CREATE, body, length, &error), 0);
		assert_int_equal(message_compare(&message, body, length), 0);
		assert_string_equal(message_text(&message, message.body.create.shares[0].target),
		                    "/work");
	}
}

TEST(a_bad_body_is_refused_with_its_reason_and_the_next_one_is_decoded)
{
	_cleanup_(end) struct decoder decoder = start_real();
	struct yett_error error = {0};
	uint8_t body[1024];
	size_t length = make_body(body);

	assert_int_equal(run(&decoder, MESSAGE_CREATE, "\x80", 1, &error), YETT_E_PROTOCOL);
	assert_int_equal(error.reason, YETT_R_MISSING_FIELD);
	assert_string_equal(error.detail, "profile");
	assert_int_equal(run(&decoder, MESSAGE_CREATE, "", 0, &error), YETT_E_PROTOCOL);
	assert_int_equal(error.reason, YETT_R_TRUNCATED);
	assert_int_equal(run(&decoder, MESSAGE_CREATE, body, length, &error), 0);
}

TEST(a_body_of_the_largest_size_is_answered)
{
	_cleanup_(end) struct decoder decoder = start_real();
	_cleanup_free_ uint8_t *body = malloc(DECODER_INPUT_MAX + 1);
	struct yett_error error = {0};

	assert_non_null(body);
	memset(body, 0x91, DECODER_INPUT_MAX + 1);
	assert_int_equal(run(&decoder, MESSAGE_CREATE, body, DECODER_INPUT_MAX, &error),
	                 YETT_E_PROTOCOL);
	assert_int_equal(error.reason, YETT_R_DEPTH);
	assert_int_equal(run(&decoder, MESSAGE_CREATE, body, DECODER_INPUT_MAX + 1, &error),
	                 -EMSGSIZE);
}

/* Has the decoder print the plan, and compares with what the printer prints here. */
static void assert_printed(struct decoder *decoder, const struct plan *plan)
{
	_cleanup_fd_ int memfd = -1;
	_cleanup_free_ char *expected = NULL, *told = NULL;
	struct yett_error error = {0};
	size_t length;

	expected = printed_plan(plan, &length);
	assert_int_equal(decoder_print(decoder, plan, waiting_deadline_ms(), &memfd, &error), 0);
	told = malloc(length + 1);
	assert_non_null(told);
	assert_int_equal(pread(memfd, told, length + 1, 0), length);
	assert_memory_equal(told, expected, length);
	assert_int_equal(fcntl(memfd, F_GET_SEALS),
	                 F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
}

/* As many steps and texts as there can be, each text as long as it gets when it is printed. */
static void fill_plan(struct plan *plan)
{
	char text[120];
	struct plan_step *step;

	memset(text, '\1', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	while ((step = plan_add_step(plan, PLAN_TMPFS)) &&
	       plan_add_text(plan, text, &step->target) == 0)
		step->size_bytes = 1 << 20;
	assert_null(step);
	while (plan_add_text(plan, text, &plan->env[0]) == 0)
		plan->env_count = 1;
}

TEST(a_plan_is_printed_and_what_comes_after_it_is_decoded)
{
	_cleanup_(end) struct decoder decoder = start_real();
	_cleanup_free_ struct plan *plan = calloc(1, sizeof *plan), *full = calloc(1, sizeof *full);
	struct yett_error error = {0};
	uint8_t body[1024];
	size_t length = make_body(body);

	strcpy(plan->id, "00112233445566ff");
	assert_int_equal(plan_add_text(plan, "default", &plan->profile_name), 0);
	plan_add_step(plan, PLAN_TEMPLATE)->from = plan->profile_name;
	(void)plan_add_step(plan, PLAN_PROC);
	fill_plan(full);
	for (unsigned i = 0; i < 3; i++) {
		assert_printed(&decoder, plan);
		assert_printed(&decoder, full);
		assert_int_equal(run(&decoder, MESSAGE_CREATE, body, length, &error), 0);
	}
}

TEST(what_is_no_plan_ends_the_decoder)
{
	_cleanup_(end) struct decoder decoder = start_real();
	struct plan *plan = calloc(1, sizeof *plan);
	struct decoder_question half = {DECODER_PRINT};
	const struct iovec parts[] = {{&half, sizeof half},
	                              {plan, offsetof(struct plan, arena) - 1}};
	struct yett_error error = {0};
	int memfd = -1;

	assert_int_equal(decoder_wait_ready(&decoder, waiting_deadline_ms(), &error), 0);
	assert_int_equal(program_ask(&decoder.program, parts, ARRAY_SIZE(parts)), 0);
	assert_true(kernel_wait_end(decoder.program.pid, waiting_deadline_ms()));
	assert_int_equal(decoder_print(&decoder, plan, waiting_deadline_ms(), &memfd, &error),
	                 -EPIPE);
	assert_int_equal(memfd, -1);
	free(plan);
}

TEST(a_killed_decoder_is_an_error_and_is_not_asked_again)
{
	_cleanup_(end) struct decoder decoder = start_real();
	struct yett_error error = {0};

	assert_int_equal(decoder_wait_ready(&decoder, waiting_deadline_ms(), &error), 0);
	assert_int_equal(kill(decoder.program.pid, SIGKILL), 0);
	assert_int_equal(run_nothing(&decoder, &error), -EPIPE);
	assert_int_equal(error.code, YETT_E_HELPER_UNAVAILABLE);
	assert_int_equal(run_nothing(&decoder, &error), -EPIPE);
}

TEST(a_hung_decoder_is_given_up_on_at_the_deadline)
{
	_cleanup_(end) struct decoder decoder = start_real();
	struct decoder_task task = {.kind = MESSAGE_CREATE, .bytes = "", .timeout_ms = 50};
	struct yett_error error = {0};

	assert_int_equal(decoder_wait_ready(&decoder, waiting_deadline_ms(), &error), 0);
	assert_int_equal(kill(decoder.program.pid, SIGSTOP), 0);
	assert_int_equal(decoder_run(&decoder, &task, &message, &error), -ETIMEDOUT);
	assert_int_equal(error.code, YETT_E_HELPER_UNAVAILABLE);
	task.timeout_ms = waiting_deadline_ms();
	assert_int_equal(decoder_run(&decoder, &task, &message, &error), -EPIPE);
}

TEST(a_failed_stage_is_named)
{
	struct decoder decoder;
	struct yett_error error = {0};

	assert_int_equal(decoder_start(getenv("YETT_LIBEXEC"), 0, empty_dir, &decoder), 0);
	assert_int_equal(decoder_wait_ready(&decoder, waiting_deadline_ms(), &error), -EPIPE);
	assert_string_equal(error.detail, "failed reading its arguments");
	end(&decoder);
	if (geteuid() != 0) {
		print_message("not root: leaving the file system is not tried\n");
		return;
	}
	assert_int_equal(
		decoder_start(getenv("YETT_LIBEXEC"), DECODER_ID, "/does/not/exist", &decoder), 0);
	assert_int_equal(decoder_wait_ready(&decoder, waiting_deadline_ms(), &error), -EPIPE);
	assert_string_equal(error.detail, "failed leaving the file system");
	end(&decoder);
}

TEST(a_decoder_that_is_not_there_cannot_be_started)
{
	struct decoder decoder;

	assert_int_equal(decoder_start("/does/not/exist", DECODER_ID, empty_dir, &decoder),
	                 -ENOENT);
	assert_int_equal(decoder.program.socket, -1);
	end(&decoder);
}

/* The value of a line of /proc/PID/status, without the white space before it. proc_pid_status(5) */
static void read_status(pid_t pid, const char *name, char value[128])
{
	char path[64], line[256];
	size_t length = strlen(name);
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/status", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	value[0] = '\0';
	while (fgets(line, sizeof line, file))
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			(void)snprintf(value, 128, "%s",
			               line + length + 1 + strspn(line + length + 1, "\t "));
	(void)fclose(file);
	value[strcspn(value, "\n")] = '\0';
}

static void assert_status(pid_t pid, const char *name, const char *expected)
{
	char value[128];

	read_status(pid, name, value);
	if (strcmp(value, expected) != 0)
		fail_msg("%s is '%s', not '%s'", name, value, expected);
}

TEST(a_ready_decoder_has_dropped_everything)
{
	static const char *const none[] = {"CapInh", "CapPrm", "CapEff", "CapAmb"};
	_cleanup_(end) struct decoder decoder = start_real();
	struct yett_error error = {0};
	char ids[128], before[128];

	assert_int_equal(decoder_wait_ready(&decoder, waiting_deadline_ms(), &error), 0);
	(void)snprintf(ids, sizeof ids, "%u\t%u\t%u\t%u", expected_id(), expected_id(),
	               expected_id(), expected_id());
	assert_status(decoder.program.pid, "Uid", ids);
	assert_status(decoder.program.pid, "NoNewPrivs", "1");
	read_status(getpid(), "Seccomp",
	            before); /* strict mode cannot be entered from a filter: then it is one more */
	assert_status(decoder.program.pid, "Seccomp", before[0] == '0' ? "1" : "2");
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		assert_status(decoder.program.pid, none[i], "0000000000000000");
	if (geteuid() != 0) {
		print_message("not root: bounding set, groups and gid are not checked\n");
		return;
	}
	assert_status(decoder.program.pid, "CapBnd", "0000000000000000");
	assert_status(decoder.program.pid, "Gid", ids);
	assert_status(decoder.program.pid, "Groups", "");
}

/* In a process that already has a filter, as in a container: 0 if the decoder is locked in by one
 * of its own. */
static int decode_below_a_filter(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {.len = 1, .filter = &allow};
	struct decoder decoder;
	struct yett_error error;
	char mode[128];
	uint8_t body[1024];
	size_t length = make_body(body);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 1;
	decoder = start_real();
	if (run(&decoder, MESSAGE_CREATE, body, length, &error) != 0 ||
	    message_compare(&message, body, length) != 0)
		return 2;
	read_status(decoder.program.pid, "Seccomp", mode);
	end(&decoder);
	return strcmp(mode, "2") == 0 ? 0 : 3;
}

TEST(a_decoder_below_a_filter_adds_its_own)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(decode_below_a_filter());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void read_limit(pid_t pid, const char *name, char value[128])
{
	char path[64], line[256];
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/limits", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	while (fgets(line, sizeof line, file))
		if (strncmp(line, name, strlen(name)) == 0)
			assert_int_equal(sscanf(line + strlen(name), "%127s", value), 1);
	(void)fclose(file);
}

TEST(a_ready_decoder_can_reach_nothing)
{
	static const char *const zero[] = {"Max open files", "Max processes", "Max file size"};
	int leaked = open("/dev/null",
	                  O_RDONLY); /* without close-on-exec, as a careless monitor would */
	_cleanup_(end) struct decoder decoder = start_real();
	struct yett_error error = {0};
	char path[64], target[4096] = "";
	const struct dirent *entry;
	unsigned fds = 0;
	DIR *dir;

	assert_true(leaked >= 0);
	assert_int_equal(decoder_wait_ready(&decoder, waiting_deadline_ms(), &error), 0);
	(void)close(leaked);
	if (geteuid() != 0) {
		print_message(
			"not root: an undumpable process shows its descriptors, limits and root to root alone\n");
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(zero); i++) {
		read_limit(decoder.program.pid, zero[i], target);
		assert_string_equal(target, "0");
	}
	read_limit(decoder.program.pid, "Max core file size", target);
	assert_string_equal(target,
	                    "1"); /* 0 would not keep the host's core handler away. core(5) */
	(void)snprintf(path, sizeof path, "/proc/%d/root", decoder.program.pid);
	assert_true(readlink(path, target, sizeof target - 1) > 0);
	assert_string_equal(target, empty_dir);
	(void)snprintf(path, sizeof path, "/proc/%d/fd", decoder.program.pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((entry = readdir(dir)))
		fds += entry->d_name[0] != '.';
	(void)closedir(dir);
	assert_int_equal(fds, 1);
}

TEST(a_decoder_ends_with_its_monitor)
{
	struct decoder decoder = start_real();
	struct yett_error error = {0};
	siginfo_t info = {0};

	assert_int_equal(decoder_wait_ready(&decoder, waiting_deadline_ms(), &error), 0);
	decoder.program.socket =
		fd_close(decoder.program.socket); /* all that it sees of the monitor's end */
	assert_int_equal(waitid(P_PID, (id_t)decoder.program.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(info.si_code, CLD_EXITED);
	assert_int_equal(info.si_status, 0);
	end(&decoder);
}

TEST(a_task_that_is_not_its_own_ends_the_decoder)
{
	_cleanup_(end) struct decoder decoder = start_real();
	struct yett_error error = {0};

	assert_int_equal(run(&decoder, MESSAGE_EXEC, "\x80", 1, &error), -EPIPE);
	assert_true(kernel_wait_end(decoder.program.pid, waiting_deadline_ms()));
	assert_int_equal(decoder_wait_ready(&decoder, waiting_deadline_ms(), &error),
	                 0); /* it was ready */
	assert_int_equal(run_nothing(&decoder, &error), -EPIPE);
}

/* X(name, refused, arena_used, how many bytes follow) of an answer to a MESSAGE_CREATE. */
#define LIES(X)                                                                      \
	X("refused", 7, 0, 0)                                                        \
	X("small-body", 0, 0, sizeof(struct message_create) - 1)                     \
	X("large-body", 0, 0, sizeof(struct message_create) + 1)                     \
	X("body-of-an-exec", 0, 0, sizeof(struct message_exec))                      \
	X("small-arena", 0, 1, sizeof(struct message_create))                        \
	X("large-arena", 0, MESSAGE_ARENA_MAX + 1,                                   \
	  sizeof(struct message_create) + MESSAGE_ARENA_MAX + 1)                     \
	X("largest-arena", 0, UINT32_MAX, sizeof(struct message_create))             \
	X("arena-before-the-body", 0, (uint32_t) - sizeof(struct message_create), 0) \
	X("error-with-more", 1, 0, 1)                                                \
	X("error-code", 1, 0, 0)                                                     \
	X("error-reason", 1, 0, 0)                                                   \
	X("error-text", 1, 0, 0)                                                     \
	X("too-many-shares", 0, 0, sizeof(struct message_create))                    \
	X("half-a-head", 0, 0, 0)                                                    \
	X("unasked", 0, 0, 0)                                                        \
	X("ready", 7, 0, 0)

static void send_parts(const struct iovec *parts, size_t count)
{
	if (sendmsg(STDIN_FILENO,
	            &(struct msghdr){.msg_iov = (struct iovec *)(uintptr_t)parts,
	                             .msg_iovlen = count},
	            MSG_NOSIGNAL) < 0)
		_exit(1);
}

static void write_lie(const char *lie)
{
	static char more[sizeof(struct message_create) + MESSAGE_ARENA_MAX + 1];
	struct decoder_answer head = {.error = {.code = YETT_E_PROTOCOL, .reason = YETT_R_RANGE}};
	struct iovec parts[] = {{&head, sizeof head}, {more, 0}};

#define X(name, is_refused, arena, length)   \
	if (strcmp(lie, name) == 0) {        \
		head.refused = (is_refused); \
		head.arena_used = (arena);   \
		parts[1].iov_len = (length); \
	}
	LIES(X)
#undef X
	if (strcmp(lie, "error-text") == 0) {
		memset(head.error.message, 'm', sizeof head.error.message);
		memset(head.error.detail, 'd', sizeof head.error.detail);
	}
	if (strcmp(lie, "error-code") == 0)
		head.error.code = (enum yett_code)(YETT_CODES_COUNT + 1);
	if (strcmp(lie, "error-reason") == 0)
		head.error.reason = (enum yett_reason) - 1;
	if (strcmp(lie, "too-many-shares") == 0)
		((struct message_create *)(void *)more)->shares_count = MESSAGE_SHARES_MAX + 1;
	if (strcmp(lie, "half-a-head") == 0)
		parts[0].iov_len = 6;
	send_parts(parts, ARRAY_SIZE(parts));
}

/* X(name, is_last, how many bytes) of the one answer to a plan that is to be printed, or of all
 * without end. */
#define PRINTED_LIES(X)                                           \
	X("print-last", 2, sizeof(uint32_t))                      \
	X("print-large-part", 0, sizeof(struct decoder_part) + 1) \
	X("print-half-a-head", 0, sizeof(uint32_t) - 1)           \
	X("print-empty-without-end", 0, sizeof(uint32_t))         \
	X("print-without-end", 0, sizeof(struct decoder_part))

/* Answers whatever is asked with what no decoder of ours says of a plan. */
static int lie_of_plan(const char *which)
{
	static struct {
		struct decoder_part part;
		char more;
	} packet;
	static char question[sizeof(struct plan) + 64];

	if (recv(STDIN_FILENO, question, sizeof question, 0) <= 0)
		return 1;
	do {
#define X(name, last, length)                                      \
	if (strcmp(which, name) == 0) {                            \
		packet.part.is_last = (last);                      \
		send_parts(&(struct iovec){&packet, (length)}, 1); \
	}
		PRINTED_LIES(X)
#undef X
	} while (strstr(which, "-without-end"));
	return 0;
}

/* The body of a lying decoder. */
static int lie(const char *which)
{
	static char question[DECODER_INPUT_MAX];
	struct decoder_answer ready = {.refused = strcmp(which, "ready") == 0 ? 7 : 0};

	send_parts(&(struct iovec){&ready, sizeof ready}, 1);
	if (strncmp(which, "print-", 6) == 0)
		return lie_of_plan(which);
	if (strcmp(which, "unasked") == 0)
		send_parts(&(struct iovec){(char *)"an answer before the question", 29}, 1);
	while (recv(STDIN_FILENO, question, sizeof question, 0) > 0)
		write_lie(which);
	return 0;
}

static int run_lie(const char *which, struct yett_error *error)
{
	_cleanup_(end) struct decoder decoder;
	char canary[64];
	int r;

	assert_int_equal(decoder_start(liars, DECODER_ID, which, &decoder), 0);
	r = decoder_wait_ready(&decoder, waiting_deadline_ms(), error);
	if (r == 0 && strcmp(which, "unasked") == 0)
		(void)poll(&(struct pollfd){.fd = decoder.program.socket, .events = POLLIN}, 1,
		           waiting_deadline_ms());
	memset(&message, 0x5a, sizeof message);
	memset(canary, 0x5a, sizeof canary);
	if (r == 0)
		r = run_nothing(&decoder, error);
	assert_memory_equal((uint8_t *)&message.body + sizeof(struct message_create), canary,
	                    sizeof canary);
	return r;
}

TEST(a_decoder_that_lies_is_found_out)
{
	struct yett_error error;

#define X(name, ...)                                                         \
	{                                                                    \
		int r = run_lie(name, &error);                               \
                                                                             \
		if (r != -EPROTO || error.code != YETT_E_HELPER_UNAVAILABLE) \
			fail_msg("the lie '%s' gave %d", name, r);           \
	}
	LIES(X)
#undef X
}

TEST(what_is_printed_is_held_to_its_bounds)
{
#define X(name, ...) name,
	static const char *const lies[] = {PRINTED_LIES(X)};
#undef X
	struct plan *plan = calloc(1, sizeof *plan);

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		_cleanup_(end) struct decoder decoder;
		struct yett_error error;
		int expected = strcmp(lies[i], "print-without-end") == 0 ? -EFBIG : -EPROTO,
		    memfd = -1;

		assert_int_equal(decoder_start(liars, DECODER_ID, lies[i], &decoder), 0);
		if (decoder_print(&decoder, plan, waiting_deadline_ms(), &memfd, &error) !=
		            expected ||
		    error.code != YETT_E_HELPER_UNAVAILABLE || memfd != -1)
			fail_msg("the lie '%s' passed", lies[i]);
	}
	free(plan);
}

TEST(texts_of_a_decoder_that_do_not_end_are_refused)
{
	struct yett_error error;

	assert_int_equal(run_lie("error-text", &error), -EPROTO);
	assert_string_equal(error.message, "yett-decoder sent an invalid answer");
}

int main(int argc, char **argv)
{
	char self[4096] = "", link[64];
	int r;

	if (argc == 3)
		return lie(argv[2]);
	if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0)
		return 1;
	if (!mkdtemp(empty_dir) || chmod(empty_dir, 0755) < 0 || !mkdtemp(liars))
		return 1;
	(void)snprintf(link, sizeof link, "%s/yett-decoder", liars);
	if (symlink(self, link) < 0)
		return 1;
	r = testing_run("tests", NULL, NULL);
	(void)rmdir(empty_dir);
	(void)unlink(link);
	(void)rmdir(liars);
	return r;
}
