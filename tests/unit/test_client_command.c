/* Commands of the library against an init played here. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "tests/unit/client_peer.h"

static int start(struct peer *peer, const char *name, struct yett_command **ret_command)
{
	const char *const argv[] = {name, "argument", NULL}, *const env[] = {"A=1", NULL};
	const struct yett_command_options options = {.argv = argv, .env = env, .cwd = "/work", .timeout_ms = 5};

	return yett_sandbox_exec(peer->sandbox, &options, ret_command, &peer->error);
}

static void a_command_goes_from_exec_to_its_result(void **state)
{
	struct peer *peer = *state;
	struct yett_command *command = NULL;
	struct yett_result result = {0};
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
	assert_int_equal(result.status, 3);
	assert_int_equal(result.limits_hit, YETT_LIMIT_PIDS);
	assert_int_equal(result.wall_us, 1234);
	assert_int_equal(yett_command_signal(command, 15, &peer->error), YETT_E_NOT_RUNNING);
	yett_command_free(command);
}

static void commands_at_once_get_their_own_results(void **state)
{
	struct peer *peer = *state;
	struct yett_command *first = NULL, *second = NULL;
	struct yett_result result = {0};

	peer_create(peer);
	assert_int_equal(start(peer, "one", &first), 0);
	assert_int_equal(start(peer, "two", &second), 0);
	say_started(peer, 1);
	say_started(peer, 2);
	say_exited(peer, 2, 22);
	say_exited(peer, 1, 11);
	assert_int_equal(yett_command_wait(first, SHORT_MS, &result, &peer->error), 0);
	assert_int_equal(result.status, 11);
	assert_int_equal(yett_command_wait(second, SHORT_MS, &result, &peer->error), 0);
	assert_int_equal(result.status, 22);
	yett_command_free(first);
	yett_command_free(second);
}

static void free_on_exit(struct yett_command *command, void *data)
{
	(*(int *)data)++;
	yett_command_free(command);
}

static void dispatch_calls_on_exit_which_may_free_the_command(void **state)
{
	struct peer *peer = *state;
	const char *const argv[] = {"x", NULL};
	int called = 0;
	const struct yett_command_options options = {.argv = argv, .on_exit = free_on_exit, .data = &called};
	struct yett_command *command;

	peer_create(peer);
	for (int i = 0; i < 3; i++)
		assert_int_equal(yett_sandbox_exec(peer->sandbox, &options, &command, &peer->error), 0);
	say_started(peer, 2);
	say_exited(peer, 2, 0);
	say_error(peer, peer->init, 1, YETT_E_COMMAND_FAILED, "errno=2 x");
	assert_int_equal(yett_sandbox_dispatch(peer->sandbox, &peer->error), 0);
	assert_int_equal(called, 2);
	say_ended(peer, 1, ENDED_INIT_DIED);
	peer->init = fd_close(peer->init);
	assert_int_equal(yett_sandbox_dispatch(peer->sandbox, &peer->error), YETT_E_NOT_RUNNING);
	assert_int_equal(called, 3);
}

static void a_command_that_could_not_start_says_why(void **state)
{
	struct peer *peer = *state;
	struct yett_command *command = NULL;
	struct yett_result result;

	peer_create(peer);
	assert_int_equal(start(peer, "nothing", &command), 0);
	say_error(peer, peer->init, 1, YETT_E_COMMAND_FAILED, "errno=2 not found");
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_COMMAND_FAILED);
	assert_string_equal(peer->error.detail, "errno=2 not found");
	yett_command_free(command);
}

static void a_sandbox_that_ran_out_of_memory_says_so_to_its_commands(void **state)
{
	struct peer *peer = *state;
	struct yett_command *command = NULL;
	struct yett_result result;

	peer_create(peer);
	assert_int_equal(start(peer, "hog", &command), 0);
	say_ended(peer, 1, ENDED_OOM);
	peer->init = fd_close(peer->init);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_RESOURCE_LIMIT);
	assert_int_equal(yett_sandbox_ended(peer->sandbox), YETT_ENDED_OUT_OF_MEMORY);
	assert_int_equal(start(peer, "more", &(struct yett_command *){NULL}), YETT_E_RESOURCE_LIMIT);
	yett_command_free(command);
}

static void a_lying_init_ends_its_own_sandbox_only(void **state)
{
	struct peer *peer = *state;
	struct yett_command *command = NULL;
	struct yett_result result;

	peer_create(peer);
	assert_int_equal(start(peer, "x", &command), 0);
	say_exited(peer, 9, 0);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_PROTOCOL);
	assert_int_equal(peer->error.reason, YETT_R_OUT_OF_ORDER);
	yett_command_free(command);
	say_ended(peer, 1, ENDED_CLOSED);
	assert_int_equal(yett_sandbox_destroy(peer->sandbox, &peer->error), 0);
	say_created(peer, 2);
	assert_int_equal(yett_sandbox_create(peer->connection, NULL, &peer->sandbox, &peer->error), 0);
	assert_int_equal(start(peer, "x", &command), 0);
	say_exited(peer, 1, 0); /* before it started */
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), YETT_E_PROTOCOL);
	yett_command_free(command);
}

static void bad_commands_are_refused_before_they_are_sent(void **state)
{
	struct peer *peer = *state;
	const char *const none[] = {NULL}, *const empty[] = {"", NULL}, *const argv[] = {"x", NULL},
			  *const env[] = {"novalue", NULL}, *const latin1[] = {"\xe4", NULL};
	int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), stdio[] = {root, -1, -1};
	const struct yett_command_options wrong[] = {
		{.argv = NULL},	  {.argv = none},
		{.argv = empty},  {.argv = argv, .env = env},
		{.argv = latin1}, {.argv = argv, .stdio = stdio},
	};
	struct yett_command *command = NULL;

	peer_create(peer);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		assert_int_equal(yett_sandbox_exec(peer->sandbox, &wrong[i], &command, &peer->error),
				 i + 1 == ARRAY_SIZE(wrong) ? YETT_E_SECURITY_VIOLATION : YETT_E_INVALID_REQUEST);
	assert_int_equal(frame_receive(peer->init, &peer->frame, MSG_DONTWAIT), -EAGAIN);
	fd_close(root);
}

/* An init in a process of its own, which writes to both streams of the first command. */
static pid_t play_init(struct peer *peer, const char *out, const char *err)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (frame_receive(peer->init, &peer->frame, 0) != 1 || peer->frame.fd_count != 2 ||
	    write(peer->frame.fds[0], out, strlen(out)) < 0 || write(peer->frame.fds[1], err, strlen(err)) < 0)
		_exit(1);
	say_started(peer, 1);
	say_exited(peer, 1, 4);
	_exit(0);
}

static void run_keeps_output_up_to_its_bound(void **state)
{
	struct peer *peer = *state;
	const char *const argv[] = {"x", NULL};
	const struct yett_command_options options = {.argv = argv};
	struct yett_output output = {0};
	pid_t pid;

	peer_create(peer);
	pid = play_init(peer, "abcdef", "xyz");
	assert_int_equal(yett_run(peer->sandbox, &options, 3, &output, &peer->error), 0);
	assert_int_equal(output.result.status, 4);
	assert_string_equal(output.out, "abc");
	assert_int_equal(output.out_length, 3);
	assert_true(output.out_truncated);
	assert_string_equal(output.err, "xyz");
	assert_false(output.err_truncated);
	yett_output_free(&output);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, peer_make, peer_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_command_goes_from_exec_to_its_result),
		TEST(commands_at_once_get_their_own_results),
		TEST(dispatch_calls_on_exit_which_may_free_the_command),
		TEST(a_command_that_could_not_start_says_why),
		TEST(a_sandbox_that_ran_out_of_memory_says_so_to_its_commands),
		TEST(a_lying_init_ends_its_own_sandbox_only),
		TEST(bad_commands_are_refused_before_they_are_sent),
		TEST(run_keeps_output_up_to_its_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
