/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of the library against an init played here. */
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/support/testing.h"
#include "tests/unit/client_peer.h"

static int start(struct peer *peer, const char *name, struct yett_command **ret_command)
{
	const char *const argv[] = {name, "argument", NULL}, *const env[] = {"A=1", NULL};
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .env = env, .cwd = "/work", .timeout_ms = 5};

	return yett_sandbox_exec(peer->sandbox, &options, ret_command, &peer->error);
}

#define WITH_PEER(test) TEST_OF(test, struct peer *peer, peer_make, peer_free)

WITH_PEER(a_command_goes_from_exec_to_its_result)
{
	struct yett_command *command = NULL;
	const struct yett_result *result = NULL;
	const struct message_exec *exec = &peer->message.body.exec;

	peer_create(peer);
	assert_int_equal(start(peer, "program", &command), 0);
	hear(peer, peer->init);
	assert_int_equal(peer->envelope.kind, MESSAGE_EXEC);
	assert_string_equal(message_text(&peer->message, exec->argv[0]), "program");
	assert_string_equal(message_text(&peer->message, exec->env[0]), "A=1");
	assert_string_equal(message_text(&peer->message, exec->cwd), "/work");
	assert_int_equal(exec->timeout_ms, 5);
	assert_int_equal(yett_command_wait(command, 0, &result, &peer->error), YETT_E_TIMEOUT);
	say_started(peer, 1);
	assert_int_equal(yett_command_wait(command, 0, &result, &peer->error), YETT_E_TIMEOUT);
	assert_int_equal(yett_command_pid(command), 7);
	assert_int_equal(yett_command_signal(command, 15, &peer->error), 0);
	hear(peer, peer->init);
	assert_int_equal(peer->message.body.signal.command, 1);
	assert_int_equal(peer->message.body.signal.signal, 15);
	say_exited(peer, 1, 3);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), 0);
	assert_int_equal(result->status, 3);
	assert_int_equal(result->limits_hit, YETT_LIMIT_PIDS);
	assert_int_equal(result->wall_us, 1234);
	assert_string_equal(result->signal_name, "");
	assert_int_equal(yett_command_signal(command, 15, &peer->error), YETT_E_NOT_RUNNING);
	yett_command_free(command);
}

/* What init says of one that a signal ended. */
static const char *name_of_signal(struct peer *peer, uint64_t sequence, uint32_t number)
{
	const struct message_exited exited = {.signaled = true,
	                                      .status = number,
	                                      .read_bytes = 512,
	                                      .written_bytes = UINT64_MAX,
	                                      .started_ms = UINT64_C(1763712000005),
	                                      .ended_ms = UINT64_C(1763712000007)};
	static char name[sizeof((struct yett_result *)NULL)->signal_name];
	const struct yett_result *result = NULL;
	struct yett_command *command = NULL;

	assert_int_equal(start(peer, "x", &command), 0);
	say_started(peer, sequence);
	say_exited_with(peer, sequence, &exited);
	assert_int_equal(yett_command_wait(command, SHORT_MS, &result, &peer->error), 0);
	assert_int_equal(result->started_ms, exited.started_ms);
	assert_int_equal(result->ended_ms, exited.ended_ms);
	assert_int_equal(result->read_bytes, exited.read_bytes);
	assert_true(result->written_bytes == exited.written_bytes);
	(void)snprintf(name, sizeof name, "%s", result->signal_name);
	yett_command_free(command);
	return name;
}

WITH_PEER(a_signal_is_told_by_its_name)
{
	peer_create(peer);
	assert_string_equal(name_of_signal(peer, 1, SIGSEGV), "SEGV");
	assert_string_equal(name_of_signal(peer, 2, (uint32_t)SIGRTMIN + 3), "RTMIN+3");
	assert_string_equal(name_of_signal(peer, 3, 255), "");
	assert_string_equal(name_of_signal(peer, 4, 0), "");
}

WITH_PEER(commands_at_once_get_their_own_results)
{
	struct yett_command *first = NULL, *second = NULL;
	const struct yett_result *result = NULL;

	peer_create(peer);
	assert_int_equal(start(peer, "one", &first), 0);
	assert_int_equal(start(peer, "two", &second), 0);
	say_started(peer, 1);
	say_started(peer, 2);
	say_exited(peer, 2, 22);
	say_exited(peer, 1, 11);
	assert_int_equal(yett_command_wait(first, SHORT_MS, &result, &peer->error), 0);
	assert_int_equal(result->status, 11);
	assert_int_equal(yett_command_wait(second, SHORT_MS, &result, &peer->error), 0);
	assert_int_equal(result->status, 22);
	yett_command_free(first);
	yett_command_free(second);
}

static void free_on_exit(struct yett_command *command, void *data)
{
	(*(int *)data)++;
	yett_command_free(command);
}

WITH_PEER(dispatch_calls_on_exit_which_may_free_the_command)
{
	const char *const argv[] = {"x", NULL};
	int called = 0;
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .on_exit = free_on_exit, .data = &called};
	struct yett_command *command;

	peer_create(peer);
	for (int i = 0; i < 3; i++)
		assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error),
		                 0);
	say_started(peer, 2);
	say_exited(peer, 2, 0);
	say_error(peer, peer->init, 1, YETT_E_COMMAND_FAILED, "x");
	assert_int_equal(yett_sandbox_dispatch(peer->sandbox, &peer->error), 0);
	assert_int_equal(called, 2);
	say_ended(peer, 1, ENDED_INIT_DIED);
	peer->init = fd_close(peer->init);
	assert_int_equal(yett_sandbox_dispatch(peer->sandbox, &peer->error), YETT_E_NOT_RUNNING);
	assert_int_equal(called, 3);
}

WITH_PEER(a_command_that_could_not_start_says_why)
{
	struct yett_command *command = NULL;
	const struct yett_result *result = NULL;

	peer_create(peer);
	assert_int_equal(start(peer, "nothing", &command), 0);
	say_error(peer, peer->init, 1, YETT_E_COMMAND_FAILED, "not found");
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error),
	                 YETT_E_COMMAND_FAILED);
	assert_string_equal(peer->error.detail, "not found");
	assert_int_equal(peer->error.os_error, ENOENT);
	yett_command_free(command);
}

WITH_PEER(a_sandbox_that_ran_out_of_memory_says_so_to_its_commands)
{
	struct yett_command *command = NULL;
	const struct yett_result *result = NULL;

	peer_create(peer);
	assert_int_equal(start(peer, "hog", &command), 0);
	say_ended(peer, 1, ENDED_OOM);
	peer->init = fd_close(peer->init);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error),
	                 YETT_E_RESOURCE_LIMIT);
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_OUT_OF_MEMORY);
	assert_int_equal(start(peer, "more", &(struct yett_command *){NULL}),
	                 YETT_E_RESOURCE_LIMIT);
	yett_command_free(command);
}

WITH_PEER(a_lying_init_ends_its_own_sandbox_only)
{
	struct yett_command *command = NULL;
	const struct yett_result *result = NULL;

	peer_create(peer);
	assert_int_equal(start(peer, "x", &command), 0);
	say_exited(peer, 9, 0);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_OUT_OF_ORDER);
	yett_command_free(command);
	say_ended(peer, 1, ENDED_CLOSED);
	assert_int_equal(yett_sandbox_end(peer->sandbox, &peer->error), 0);
	yett_sandbox_close(peer->sandbox);
	say_created(peer, 2);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error),
	                 0);
	assert_int_equal(start(peer, "x", &command), 0);
	say_exited(peer, 1, 0); /* before it started */
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_PROTOCOL);
	yett_command_free(command);
}

WITH_PEER(metadata_go_with_the_command)
{
	const char *const argv[] = {"x", NULL}, *const metadata[] = {"run=7", "who=", "é=ö", NULL};
	const struct yett_command_options options = COMMAND(.argv = argv, .metadata = metadata);
	const struct message_exec *exec;
	struct yett_command *command = NULL;

	peer_create(peer);
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error), 0);
	hear(peer, peer->init);
	exec = &peer->message.body.exec;
	assert_int_equal(exec->metadata_count, 3);
	for (uint32_t i = 0; i < exec->metadata_count; i++)
		assert_string_equal(message_text(&peer->message, exec->metadata[i]), metadata[i]);
	yett_command_free(command);
}

WITH_PEER(bad_metadata_are_refused_before_they_are_sent)
{
	static char half[513], more[514];
	const char *const argv[] = {"x", NULL}, *const many[] = {
							"a=", "b=", "c=", "d=", "e=", "f=",
							"g=", "h=", "i=", "j=", "k=", "l=",
							"m=", "n=", "o=", "p=", "q=", NULL};
	const char *const no_key[] = {"=v", NULL}, *const no_value[] = {"k", NULL},
			  *const twice[] = {"k=1", "kk=2", "k=3", NULL},
			  *const latin1[] = {"k=\xe4", NULL}, *const large[] = {half, more, NULL};
	const struct yett_command_options wrong[] = {
		COMMAND(.argv = argv, .metadata = many),
		COMMAND(.argv = argv, .metadata = no_key),
		COMMAND(.argv = argv, .metadata = no_value),
		COMMAND(.argv = argv, .metadata = twice),
		COMMAND(.argv = argv, .metadata = latin1),
		COMMAND(.argv = argv, .metadata = large),
	};
	struct yett_command *command = NULL;

	(void)snprintf(half, sizeof half, "a=%0509d", 0); /* 512 with its NUL */
	(void)snprintf(more, sizeof more, "b=%0510d", 0);
	peer_create(peer);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(
			yett_sandbox_exec(peer->sandbox, &wrong[i], &command, &peer->error),
			YETT_E_INVALID_REQUEST);
	assert_int_equal(frame_receive(peer->init, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	more[strlen(more) - 1] = '\0'; /* just as much as there may be */
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &wrong[ARRAY_SIZE(wrong) - 1], &command,
	                                   &peer->error),
	                 0);
	yett_command_free(command);
}

WITH_PEER(bad_commands_are_refused_before_they_are_sent)
{
	const char *const none[] = {NULL}, *const empty[] = {"", NULL}, *const argv[] = {"x", NULL},
			  *const env[] = {"novalue", NULL}, *const latin1[] = {"\xe4", NULL};
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    stdio[] = {root, YETT_STDIO_NULL, YETT_STDIO_NULL};
	const struct yett_command_options wrong[] = {
		COMMAND(.argv = NULL),   COMMAND(.argv = none),
		COMMAND(.argv = empty),  COMMAND(.argv = argv, .env = env),
		COMMAND(.argv = latin1), COMMAND(.argv = argv, .stdio = stdio),
	};
	struct yett_command *command = NULL;

	peer_create(peer);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(
			yett_sandbox_exec(peer->sandbox, &wrong[i], &command, &peer->error),
			i + 1 == ARRAY_SIZE(wrong) ? YETT_E_SECURITY_VIOLATION
						   : YETT_E_INVALID_REQUEST);
	assert_int_equal(frame_receive(peer->init, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	fd_close(root);
}

/* What open(2) and this library's own calls return when they fail, say. */
WITH_PEER(a_call_that_failed_is_not_taken_for_dev_null)
{
	static const int failed[] = {-1, -2, -ENOENT, -EACCES, -4095, INT_MIN};
	static const struct {
		int stream, word;
	} misplaced[] = {{0, YETT_STDIO_CAPTURE},   {0, YETT_STDIO_STREAM},
	                 {0, YETT_STDIO_AS_OUTPUT}, {1, YETT_STDIO_AS_OUTPUT},
	                 {1, YETT_STDIO_LATER},     {2, YETT_STDIO_LATER}};
	const char *const argv[] = {"x", NULL};
	struct yett_command *command = NULL;

	peer_create(peer);
	for (size_t i = 0; i < 3 * ARRAY_SIZE(failed); i++) {
		int stdio[] = {YETT_STDIO_NULL, YETT_STDIO_NULL, YETT_STDIO_NULL};
		const struct yett_command_options options = {
			.size = sizeof options, .argv = argv, .stdio = stdio};

		stdio[i % 3] = failed[i / 3];
		assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error),
		                 YETT_E_INVALID_REQUEST);
		assert_non_null(
			strstr(peer->error.message, "did the call fail that was to open it?"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(misplaced); i++) {
		int stdio[] = {YETT_STDIO_NULL, YETT_STDIO_NULL, YETT_STDIO_NULL};
		const struct yett_command_options options = {
			.size = sizeof options, .argv = argv, .stdio = stdio};

		stdio[misplaced[i].stream] = misplaced[i].word;
		assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error),
		                 YETT_E_INVALID_REQUEST);
	}
	assert_int_equal(frame_receive(peer->init, &peer->frame, MSG_DONTWAIT), -EAGAIN);
}

WITH_PEER(a_stream_is_a_pipe_whose_other_end_is_the_callers)
{
	static const int stdio[] = {YETT_STDIO_PIPE, YETT_STDIO_PIPE, YETT_STDIO_NULL};
	const char *const argv[] = {"x", NULL};
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .stdio = stdio};
	struct yett_command *command = NULL;
	char text[8] = "";
	int in, out, none;

	peer_create(peer);
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error), 0);
	hear(peer, peer->init);
	assert_int_equal(peer->frame.fd_count, 2);
	assert_int_equal(yett_command_take_pipe(command, 0, &in, &peer->error), 0);
	assert_int_equal(yett_command_take_pipe(command, 1, &out, &peer->error), 0);
	for (int i = -1; i <= 3; i++) /* taken, or never there */
		assert_int_equal(yett_command_take_pipe(command, i, &none, &peer->error),
		                 YETT_E_INVALID_REQUEST);
	assert_true(fcntl(in, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(write(in, "to", 2), 2);
	assert_int_equal(read(peer->frame.fds[0], text, sizeof text), 2);
	assert_int_equal(write(peer->frame.fds[1], "from", 4), 4);
	assert_int_equal(read(out, text, sizeof text), 4);
	frame_close_fds(&peer->frame);
	yett_command_free(command);
	assert_int_equal(read(out, text, sizeof text),
	                 0); /* nobody but the command had the other end */
	fd_close(in);
	fd_close(out);
}

WITH_PEER(the_callers_own_streams_are_inherited_by_name)
{
	static const int stdio[] = {YETT_STDIO_INHERIT, YETT_STDIO_NULL, YETT_STDIO_NULL};
	const char *const argv[] = {"x", NULL};
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .stdio = stdio};
	struct yett_command *command = NULL;
	int before = dup(STDIN_FILENO), ends[2], root = open("/", O_RDONLY | O_CLOEXEC);
	char text[8] = "";

	peer_create(peer);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	assert_int_equal(write(ends[1], "mine", 4), 4);
	(void)dup2(root, STDIN_FILENO);
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error),
	                 YETT_E_SECURITY_VIOLATION);
	(void)dup2(ends[0], STDIN_FILENO);
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error), 0);
	(void)dup2(before, STDIN_FILENO);
	hear(peer, peer->init);
	assert_int_equal(read(peer->frame.fds[0], text, sizeof text), 4);
	assert_string_equal(text, "mine");
	yett_command_free(command);
	fd_close(before);
	fd_close(root);
	fd_close(ends[0]);
	fd_close(ends[1]);
}

#ifndef __SANITIZE_ADDRESS__
/* proc_pid_statm(5) */
static rlim_t mapped_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages;

	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &pages), 1);
	assert_int_equal(fclose(file), 0);
	return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}
#endif

/* Trying again at once would not help, and what was asked for is not at fault. */
WITH_PEER(want_of_memory_has_a_code_of_its_own)
{
#ifdef __SANITIZE_ADDRESS__
	(void)fprintf(stderr, "AddressSanitizer ends a program that has no memory\n");
	skip();
#else
	static char large[4 << 20];
	const char *const argv[] = {"program", large, NULL};
	const struct yett_command_options options = {.size = sizeof options, .argv = argv};
	struct yett_command *command = NULL;
	struct rlimit before, none;
	int r;

	peer_create(peer);
	memset(large, 'x', sizeof large - 1);
	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	/* Half as much as is wanted: valgrind, which may run this, needs some of its own. */
	none = (struct rlimit){.rlim_cur = mapped_bytes() + sizeof large / 2,
	                       .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	r = yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error);
	assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
	assert_int_equal(r, YETT_E_OUT_OF_MEMORY);
	assert_false(yett_error_retryable(&peer->error));
	assert_string_equal(yett_error_code_name(YETT_E_OUT_OF_MEMORY), "out-of-memory");
#endif
}

TEST_WITH(every_call_asks_for_the_size_of_its_options, peer_make, peer_free)
{
	const char *const argv[] = {"x", NULL};
	const struct yett_sandbox_options unsized_sandbox = {.name = "x"};
	const struct yett_command_options unsized_command = {.argv = argv};
	const struct yett_follow_options unsized_follow = {.data = state};
	const struct yett_copy_options unsized_copy = {.timeout_ms = 1};
	const struct yett_connect_options unsized_connect = {.timeout_ms = 1};
	const struct yett_share unsized_share = {.path = "/usr"};
	const struct yett_tmpfs unsized_tmpfs = {.target = "/x"};
	const struct yett_sandbox_options shares = SANDBOX(.shares = &unsized_share,
	                                                   .shares_count = 1),
					  tmpfs = SANDBOX(.tmpfs = &unsized_tmpfs,
	                                                  .tmpfs_count = 1);
	struct peer *peer = *state;
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
	struct yett_command *command;
	struct yett_output *output;
	char *text;

	peer_create(peer);
#define assert_unsized(call, name)                                                           \
	do {                                                                                 \
		assert_int_equal(call, YETT_E_INVALID_REQUEST);                              \
		assert_non_null(strstr(peer->error.message, "struct " name " has no size")); \
	} while (0)
	assert_unsized(yett_connect(&unsized_connect, &connection, &peer->error),
	               "yett_connect_options");
	assert_unsized(
		yett_sandbox_create(peer->connection, &unsized_sandbox, &sandbox, &peer->error),
		"yett_sandbox_options");
	assert_unsized(yett_sandbox_plan(peer->connection, &unsized_sandbox, &text, &peer->error),
	               "yett_sandbox_options");
	assert_unsized(yett_sandbox_create(peer->connection, &shares, &sandbox, &peer->error),
	               "yett_share");
	assert_unsized(yett_sandbox_create(peer->connection, &tmpfs, &sandbox, &peer->error),
	               "yett_tmpfs");
	assert_unsized(yett_sandbox_exec(peer->sandbox, &unsized_command, &command, &peer->error),
	               "yett_command_options");
	assert_unsized(yett_run(peer->sandbox, &unsized_command, 1, &output, &peer->error),
	               "yett_command_options");
	assert_unsized(
		yett_command_attach(peer->sandbox, 1, &unsized_follow, &command, &peer->error),
		"yett_follow_options");
	assert_unsized(
		yett_command_follow(peer->sandbox, 1, &unsized_follow, &command, &peer->error),
		"yett_follow_options");
	assert_unsized(yett_copy_in(peer->sandbox, "/usr", "/x", &unsized_copy, NULL, &peer->error),
	               "yett_copy_options");
	assert_unsized(yett_copy_out(peer->sandbox, "/x", "/y", &unsized_copy, NULL, &peer->error),
	               "yett_copy_options");
	assert_int_equal(frame_receive(peer->init, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	assert_int_equal(frame_receive(peer->helper, &peer->frame, MSG_DONTWAIT), -EAGAIN);
}

WITH_PEER(an_id_is_told_before_the_end_is_waited_for)
{
	struct yett_command *command = NULL;

	peer_create(peer);
	assert_int_equal(start(peer, "program", &command), 0);
	say_started(peer, 1);
	assert_int_equal(yett_command_id(command), 1);
	yett_command_free(command);
	assert_int_equal(start(peer, "nothing", &command), 0);
	say_error(peer, peer->init, 2, YETT_E_COMMAND_FAILED, "errno=2 not found");
	assert_int_equal(yett_command_id(command), 0);
	yett_command_free(command);
}

WITH_PEER(what_is_too_large_for_a_packet_comes_in_memory)
{
	static char large[200000];
	const char *const argv[] = {"program", "first", large, "last", NULL}, *const env[] = {
										      "A=1",
										      "B=\xff",
										      NULL};
	const struct message_exec *exec = &peer->message.body.exec;
	struct yett_command_options options = {.size = sizeof options, .argv = argv, .env = env};
	struct yett_command *command = NULL;
	char bytes[16];
	size_t size;

	memset(large, 'x', sizeof large - 1);
	peer_create(peer);
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error), 0);
	yett_command_free(command);
	hear(peer, peer->init);
	assert_int_equal(exec->argv_count, 2);
	assert_int_equal(exec->env_count, 0);
	assert_int_equal(exec->more_argv, 2);
	assert_int_equal(exec->more_env, 2);
	size = sizeof large + sizeof "last" + sizeof "A=1" + sizeof "B=x";
	assert_int_equal(exec->more_bytes, size);
	assert_int_equal(peer->frame.fd_count, 1);
	assert_int_equal(pread(peer->frame.fds[0], bytes, sizeof bytes, (off_t)(size - 13)), 13);
	assert_memory_equal(bytes, "last\0A=1\0B=\xff", 13);
	assert_int_equal(fcntl(peer->frame.fds[0], F_ADD_SEALS, F_SEAL_WRITE), -1);
	frame_close_fds(&peer->frame);
	/* what fits goes as it is, whatever else is there */
	options.argv = (const char *const[]){"program", NULL};
	options.env = (const char *const[]){"A=1", NULL};
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error), 0);
	yett_command_free(command);
	hear(peer, peer->init);
	assert_int_equal(exec->more_bytes, 0);
	assert_int_equal(peer->frame.fd_count, 0);
}

static int start_on_terminal(struct peer *peer, struct yett_command **ret_command)
{
	const char *const argv[] = {"program", NULL};
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .terminal = true, .rows = 24, .columns = 80};

	return yett_sandbox_exec(peer->sandbox, &options, ret_command, &peer->error);
}

static void say_started_with(struct peer *peer, const int *fds, size_t count)
{
	prepare(peer, MESSAGE_STARTED)->body.started = (struct message_started){1, 7};
	say(peer, peer->init, 1, fds, count);
}

static void assert_size(int master, int rows, int columns)
{
	struct winsize size = {0};

	assert_return_code(ioctl(master, TIOCGWINSZ, &size), errno);
	assert_int_equal(size.ws_row, rows);
	assert_int_equal(size.ws_col, columns);
}

WITH_PEER(a_terminal_comes_with_the_start)
{
	struct yett_command *command = NULL;
	const struct message_exec *exec = &peer->message.body.exec;
	int master = posix_openpt(O_RDWR | O_NOCTTY), kept;

	peer_create(peer);
	assert_int_equal(start_on_terminal(peer, &command), 0);
	hear(peer, peer->init);
	assert_true(exec->terminal);
	assert_int_equal(exec->rows, 24);
	assert_int_equal(exec->columns, 80);
	assert_int_equal(peer->frame.fd_count, 0);
	assert_int_equal(yett_command_terminal(command), -1);
	assert_int_equal(yett_command_resize(command, 30, 100, &peer->error),
	                 0); /* kept until it is there */
	say_started_with(peer, &master, 1);
	fd_close(master);
	assert_int_equal(yett_sandbox_dispatch(peer->sandbox, &peer->error), 0);
	kept = yett_command_terminal(command);
	assert_true(kept >= 0);
	assert_int_equal(fcntl(kept, F_GETFD), FD_CLOEXEC);
	assert_size(kept, 30, 100);
	assert_int_equal(yett_command_resize(command, 65535, 1, &peer->error), 0);
	assert_size(kept, 65535, 1);
	say_exited(peer, 1, 0);
	assert_int_equal(yett_sandbox_dispatch(peer->sandbox, &peer->error), 0);
	assert_int_equal(yett_command_resize(command, 1, 1, &peer->error), YETT_E_NOT_RUNNING);
	assert_int_equal(yett_command_terminal(command),
	                 kept); /* what it wrote last is read from it */
	yett_command_free(command);
	assert_int_equal(fcntl(kept, F_GETFD), -1);
}

WITH_PEER(what_has_no_terminal_has_no_size)
{
	const char *const argv[] = {"x", NULL};
	const int stdio[] = {STDIN_FILENO, YETT_STDIO_NULL, YETT_STDIO_NULL},
		  null[] = {YETT_STDIO_NULL, YETT_STDIO_NULL, YETT_STDIO_NULL};
	const struct yett_command_options wrong[] = {COMMAND(.argv = argv, .rows = 24),
	                                             COMMAND(.argv = argv, .columns = 80),
	                                             COMMAND(.argv = argv, .terminal = true,
	                                                     .stdio = stdio)},
					  right = COMMAND(.argv = argv, .terminal = true,
	                                                  .stdio = null);
	struct yett_command *command = NULL;
	struct yett_output *output = NULL;

	peer_create(peer);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(
			yett_sandbox_exec(peer->sandbox, &wrong[i], &command, &peer->error),
			YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_run(peer->sandbox, &right, 1, &output, &peer->error),
	                 YETT_E_INVALID_REQUEST);
	assert_int_equal(frame_receive(peer->init, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	assert_int_equal(start(peer, "x", &command), 0);
	assert_int_equal(yett_command_resize(command, 24, 80, &peer->error),
	                 YETT_E_INVALID_REQUEST);
	assert_string_equal(peer->error.message, "the command has no terminal");
	yett_command_free(command);
	assert_int_equal(yett_sandbox_exec(peer->sandbox, &right, &command, &peer->error), 0);
	yett_command_free(command);
}

static int open_slave(int master)
{
	assert_return_code(unlockpt(master), errno);
	return open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
}

/* A descriptor that is no master would be the caller's to be deceived by: its own terminal, a file,
 * the host's /dev. */
TEST(what_is_no_master_ends_the_sandbox)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), pair[2];
	const struct {
		int fd;
		size_t count;
	} rows[] = {
		{-1, 0},
		{open_slave(master), 1},
		{open("/dev/ptmx", O_PATH | O_CLOEXEC), 1},
		{open("/dev/ptmx", O_RDONLY | O_NOCTTY | O_CLOEXEC), 1},
		{open("/dev/null", O_RDWR | O_CLOEXEC), 1},
		{open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), 1},
		{pipe2(pair, O_CLOEXEC) == 0 ? pair[0] : -1, 1},
		{dup(master), 2},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct yett_command *command = NULL;
		const struct yett_result *result = NULL;
		struct peer *peer;

		assert_int_equal(peer_make((void **)&peer), 0);
		peer_create(peer);
		assert_int_equal(start_on_terminal(peer, &command), 0);
		say_started_with(peer, (int[]){rows[i].fd, rows[i].fd}, rows[i].count);
		assert_int_equal(yett_command_wait(command, SHORT_MS, &result, &peer->error),
		                 YETT_E_PROTOCOL);
		assert_int_equal(peer->error.reason,
		                 rows[i].count == 1 ? YETT_R_WRONG_TYPE : YETT_R_FD_COUNT);
		assert_int_equal(yett_command_terminal(command), -1);
		yett_command_free(command);
		assert_int_equal(peer_free((void **)&peer), 0);
		fd_close(rows[i].fd);
	}
	fd_close(pair[1]);
	fd_close(master);
	(void)state;
}

WITH_PEER(a_terminal_that_was_not_asked_for_ends_the_sandbox)
{
	struct yett_command *command = NULL;
	const struct yett_result *result = NULL;
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);

	peer_create(peer);
	assert_int_equal(start(peer, "x", &command), 0);
	say_started_with(peer, &master, 1);
	assert_int_equal(yett_command_wait(command, SHORT_MS, &result, &peer->error),
	                 YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_FD_COUNT);
	yett_command_free(command);
	fd_close(master);
}

/* Waits until all that was written to a pipe has been read. Only its reader can make that happen,
 * and nothing tells the writer. */
static void await_read(int pipe)
{
	int unread = 1;

	while (ioctl(pipe, FIONREAD, &unread) == 0 && unread > 0)
		(void)sched_yield();
}

/* An init in a process of its own, which writes to both streams of the first command, to one after
 * the other. */
static pid_t play_init(struct peer *peer, const char *out, const char *err)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (frame_receive(peer->init, &peer->frame, 0) != 1 || peer->frame.fd_count != 2 ||
	    write(peer->frame.fds[0], out, strlen(out)) < 0)
		_exit(1);
	await_read(peer->frame.fds[0]);
	if (write(peer->frame.fds[1], err, strlen(err)) < 0)
		_exit(1);
	say_started(peer, 1);
	say_exited(peer, 1, 4);
	_exit(0);
}

WITH_PEER(run_keeps_output_up_to_its_bound)
{
	const char *const argv[] = {"x", NULL};
	const struct yett_command_options options = {.size = sizeof options, .argv = argv};
	struct yett_output *output = NULL;
	pid_t pid;

	peer_create(peer);
	pid = play_init(peer, "abcdef", "xyz");
	assert_int_equal(yett_run(peer->sandbox, &options, 3, &output, &peer->error), 0);
	assert_int_equal(output->result->status, 4);
	assert_string_equal(output->out, "abc");
	assert_int_equal(output->out_length, 3);
	assert_true(output->out_truncated);
	assert_string_equal(output->err, "xyz");
	assert_false(output->err_truncated);
	assert_int_equal(output->both_length, 3);
	assert_string_equal(output->both, "abc");
	assert_true(output->both_truncated);
	yett_free(output);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST_MAIN(NULL, NULL)
