/* SPDX-License-Identifier: Apache-2.0 */
/* libyett against a real service, as an ordinary program uses it: started by tests/support/yett.py
 * as a user. */
#include "tests/support/library.h"
#include "tests/support/testing.h"
#include "tests/support/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof(array)[0])

struct fixture {
	struct yett_connection *connection;
	struct yett_sandbox *sandbox;
};

static struct yett_sandbox *create(struct yett_connection *connection)
{
	struct yett_sandbox *sandbox = NULL;

	assert_done(yett_sandbox_create(connection, NULL, &sandbox, &error));
	return sandbox;
}

static int set_up(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){0};
	assert_done(yett_connect(NULL, &fixture.connection, &error));
	assert_int_equal(yett_connection_start(fixture.connection), YETT_START_SERVICE);
	fixture.sandbox = create(fixture.connection);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	assert_done(yett_sandbox_end(fixture->sandbox, &error));
	yett_sandbox_close(fixture->sandbox);
	yett_connection_close(fixture->connection);
	return 0;
}

static struct yett_command *start(struct yett_sandbox *sandbox, const char *const *argv,
                                  const int *stdio)
{
	const struct yett_command_options options = {
		.size = sizeof options, .argv = argv, .stdio = stdio};
	struct yett_command *command = NULL;

	assert_done(yett_sandbox_exec(sandbox, &options, &command, &error));
	return command;
}

static struct yett_result finish(struct yett_command *command)
{
	const struct yett_result *result;
	struct yett_result copy;

	assert_done(yett_command_wait(command, waiting_deadline_ms(), &result, &error));
	copy = *result;
	yett_command_free(command);
	return copy;
}

static void expect_status(struct yett_sandbox *sandbox, const char *const *argv, int status)
{
	struct yett_result result = finish(start(sandbox, argv, NULL));

	assert_false(result.signaled);
	assert_int_equal(result.status, status);
}

static char *output_of(struct yett_sandbox *sandbox, const char *const *argv)
{
	const struct yett_command_options options = {.size = sizeof options, .argv = argv};
	struct yett_output *output = NULL;
	char *text;

	assert_done(yett_run(sandbox, &options, 4096, &output, &error));
	assert_false(output->result->signaled);
	assert_int_equal(output->result->status, 0);
	text = strdup(output->out);
	yett_free(output);
	return text;
}

#define WITH_FIXTURE(test) TEST_OF(test, struct fixture *fixture, set_up, tear_down)

/* Each is written once the one before it was read: when its pipe is empty again. */
WITH_FIXTURE(the_two_outputs_are_also_told_in_their_order)
{
	static const char *const argv[] = {
		"python3", "-c",
		"import fcntl, os, struct, termios\n"
		"for i in range(10):\n"
		"    fd = 1 + i % 2\n"
		"    os.write(fd, b'%d' % i)\n"
		"    while struct.unpack('i', fcntl.ioctl(fd, termios.FIONREAD, b'....'))[0]:\n"
		"        pass\n",
		NULL};
	const struct yett_command_options options = {.size = sizeof options, .argv = argv};
	struct yett_output *output = NULL;

	assert_done(yett_run(fixture->sandbox, &options, 8, &output, &error));
	assert_int_equal(output->result->status, 0);
	assert_string_equal(output->out, "02468");
	assert_string_equal(output->err, "13579");
	assert_string_equal(output->both, "01234567");
	assert_int_equal(output->both_length, 8);
	assert_true(output->both_truncated && !output->out_truncated && !output->err_truncated);
	yett_free(output);
}

WITH_FIXTURE(two_hundred_commands_one_after_another)
{
	for (int i = 0; i < 200; i++) {
		char script[32];

		(void)snprintf(script, sizeof script, "exit %d", i % 256);
		expect_status(fixture->sandbox, SH(script), i % 256);
	}
}

WITH_FIXTURE(several_commands_at_once)
{
	enum { COMMANDS = 50 };
	struct yett_command *commands[COMMANDS];
	int in[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	for (int i = 0; i < COMMANDS; i++) {
		char script[64];

		(void)snprintf(script, sizeof script, "read x; exit %d", i + 1);
		commands[i] = start(fixture->sandbox, SH(script),
		                    (int[]){in[0], YETT_STDIO_NULL, YETT_STDIO_NULL});
	}
	for (int i = 0; i < COMMANDS; i++) {
		const struct yett_result *result = NULL;

		assert_int_equal(yett_command_wait(commands[i], 0, &result, &error),
		                 YETT_E_TIMEOUT);
	}
	(void)close(in[0]);
	(void)close(in[1]); /* now they all see the end of their input */
	for (int i = COMMANDS - 1; i >= 0; i--)
		assert_int_equal(finish(commands[i]).status, i + 1);
}

WITH_FIXTURE(commands_of_one_sandbox_see_each_other_and_its_files)
{
	struct yett_command *sleeper;
	char *text;

	expect_status(fixture->sandbox, SH("echo kept >/tmp/file"), 0);
	text = output_of(fixture->sandbox, SH("cat /tmp/file"));
	assert_string_equal(text, "kept\n");
	free(text);
	sleeper = start(fixture->sandbox, ARGV("sleep", "1000"), NULL);
	expect_status(fixture->sandbox,
	              SH("until pgrep -x sleep >/dev/null; do :; done; pkill -x sleep"), 0);
	assert_int_equal(finish(sleeper).status, SIGTERM);
}

WITH_FIXTURE(a_signal_reaches_a_command)
{
	struct yett_command *command;
	const struct yett_result *result = NULL;
	int out[2];
	char byte;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	command = start(fixture->sandbox,
	                SH("trap 'exit 7' USR1; echo; while :; do sleep 0.01; done"),
	                (int[]){YETT_STDIO_NULL, out[1], YETT_STDIO_NULL});
	(void)close(out[1]);
	assert_int_equal(read(out[0], &byte, 1), 1);
	assert_int_equal(yett_command_signal(command, 0, &error), YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_command_signal(command, 65, &error), YETT_E_INVALID_REQUEST);
	assert_done(yett_command_signal(command, SIGUSR1, &error));
	assert_done(yett_command_wait(command, waiting_deadline_ms(), &result, &error));
	assert_int_equal(result->status, 7);
	assert_true(yett_command_pid(command) > 1);
	assert_int_equal(yett_command_signal(command, SIGUSR1, &error), YETT_E_NOT_RUNNING);
	yett_command_free(command);
	(void)close(out[0]);
}

WITH_FIXTURE(a_timeout_ends_a_command_and_not_the_sandbox)
{
	const struct yett_command_options options = {
		.size = sizeof options,
		.argv = SH("trap '' TERM; while :; do sleep 1000; done"),
		.timeout_ms = 100};
	struct yett_command *command;
	struct yett_result result;

	assert_done(yett_sandbox_exec(fixture->sandbox, &options, &command, &error));
	result = finish(command);
	assert_true(result.timed_out && result.signaled);
	assert_int_equal(result.status, SIGKILL);
	assert_true(result.wall_us >= 100000);
	expect_status(fixture->sandbox, ARGV("true"), 0);
}

WITH_FIXTURE(a_command_that_cannot_start_says_why)
{
	static const struct {
		const char *program;
		int error;
	} cases[] = {{"no-such-command", ENOENT},
	             {"/usr", EISDIR},
	             {"/etc/passwd", EACCES},
	             {"/etc/passwd/x", ENOTDIR}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct yett_command *command =
			start(fixture->sandbox, ARGV(cases[i].program), NULL);
		const struct yett_result *result = NULL;

		for (int again = 0; again < 2; again++) { /* it tells the same when asked again */
			assert_int_equal(
				yett_command_wait(command, waiting_deadline_ms(), &result, &error),
				YETT_E_COMMAND_FAILED);
			assert_int_equal(error.os_error, cases[i].error);
		}
		yett_command_free(command);
	}
}

WITH_FIXTURE(environment_and_directory_are_as_asked)
{
	const struct yett_command_options options = {.size = sizeof options,
	                                             .argv = SH("echo $MINE $LANG; pwd"),
	                                             .env = ARGV("MINE=yes", "LANG=C"),
	                                             .cwd = "/usr/share"};
	struct yett_command_options wrong = options;
	struct yett_command *command;
	struct yett_output *output = NULL;

	assert_int_equal(setenv("LEAK", "yes", 1), 0);
	assert_done(yett_run(fixture->sandbox, &options, 4096, &output, &error));
	assert_string_equal(output->out, "yes C\n/usr/share\n");
	yett_free(output);
	assert_int_equal(finish(start(fixture->sandbox, SH("exit ${LEAK:+1}"), NULL)).status, 0);
	wrong.env = ARGV("NOVALUE");
	assert_int_equal(yett_sandbox_exec(fixture->sandbox, &wrong, &command, &error),
	                 YETT_E_INVALID_REQUEST);
	wrong = (struct yett_command_options){.size = sizeof(struct yett_command_options),
	                                      .argv = ARGV("")};
	assert_int_equal(yett_sandbox_exec(fixture->sandbox, &wrong, &command, &error),
	                 YETT_E_INVALID_REQUEST);
	wrong.argv = (const char *const[]){NULL};
	assert_int_equal(yett_sandbox_exec(fixture->sandbox, &wrong, &command, &error),
	                 YETT_E_INVALID_REQUEST);
}

WITH_FIXTURE(output_beyond_the_bound_is_dropped_not_lost_count_of)
{
	const struct yett_command_options options = {
		.size = sizeof options,
		.argv = SH("head -c 100000 /dev/zero | tr '\\0' x; echo e >&2; exit 2")};
	struct yett_output *output = NULL;

	assert_done(yett_run(fixture->sandbox, &options, 1000, &output, &error));
	assert_int_equal(output->result->status, 2);
	assert_int_equal(output->out_length, 1000);
	assert_int_equal(strlen(output->out), 1000);
	assert_true(output->out_truncated);
	assert_false(output->err_truncated);
	assert_string_equal(output->err, "e\n");
	yett_free(output);
}

WITH_FIXTURE(descriptors_that_are_doors_are_refused)
{
	int bad[] = {open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	             open("/etc/passwd", O_PATH | O_CLOEXEC),
	             open("/dev/zero", O_RDWR | O_CLOEXEC),
	             open("/proc/self/status", O_RDONLY | O_CLOEXEC),
	             open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC),
	             epoll_create1(EPOLL_CLOEXEC),
	             eventfd(0, EFD_CLOEXEC)};

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		const struct yett_command_options options = {
			.size = sizeof options,
			.argv = ARGV("true"),
			.stdio = (int[]){YETT_STDIO_NULL, bad[i], YETT_STDIO_NULL}};
		struct yett_command *command;

		assert_true(bad[i] >= 0);
		assert_int_equal(yett_stdio_check(bad[i], &error), YETT_E_SECURITY_VIOLATION);
		assert_int_equal(yett_sandbox_exec(fixture->sandbox, &options, &command, &error),
		                 YETT_E_SECURITY_VIOLATION);
		(void)close(bad[i]);
		assert_int_equal(yett_sandbox_exec(fixture->sandbox, &options, &command, &error),
		                 YETT_E_INVALID_REQUEST);
	}
	expect_status(fixture->sandbox, ARGV("true"), 0);
}

static void note_end(struct yett_command *command, void *data)
{
	(void)command;
	(*(int *)data)++;
}

WITH_FIXTURE(an_event_loop_learns_of_ends_by_the_descriptor)
{
	enum { COMMANDS = 8 };
	struct yett_command *commands[COMMANDS];
	struct pollfd wait = {.fd = yett_sandbox_fd(fixture->sandbox), .events = POLLIN};
	int ended = 0;

	for (int i = 0; i < COMMANDS; i++) {
		const struct yett_command_options options = {.size = sizeof options,
		                                             .argv = ARGV("true"),
		                                             .on_exit = note_end,
		                                             .data = &ended};

		assert_done(yett_sandbox_exec(fixture->sandbox, &options, &commands[i], &error));
	}
	while (ended < COMMANDS) {
		assert_int_equal(poll(&wait, 1, waiting_deadline_ms()), 1);
		assert_done(yett_sandbox_dispatch(fixture->sandbox, &error));
	}
	for (int i = 0; i < COMMANDS; i++) {
		const struct yett_result *result = NULL;

		assert_done(yett_command_wait(commands[i], 0, &result, &error));
		yett_command_free(commands[i]);
	}
	assert_int_equal(ended, COMMANDS);
	assert_done(yett_sandbox_dispatch(fixture->sandbox, &error)); /* without anything to do */
}

static void *use_a_sandbox_of_its_own(void *data)
{
	struct yett_connection *connection = data;
	struct yett_error own = {0};
	struct yett_sandbox *sandbox = NULL;
	int good = 0;

	if (yett_sandbox_create(connection, NULL, &sandbox, &own))
		return NULL;
	for (int i = 0; i < 10; i++) {
		const struct yett_command_options options = {.size = sizeof options,
		                                             .argv = SH("echo x; exit 3")};
		struct yett_output *output = NULL;

		good += yett_run(sandbox, &options, 64, &output, &own) == 0 &&
		        output->result->status == 3 && output->out_length == 2;
		yett_free(output);
	}
	good += yett_sandbox_end(sandbox, &own) == 0;
	yett_sandbox_close(sandbox);
	return good == 11 ? connection : NULL;
}

WITH_FIXTURE(threads_use_a_sandbox_each_on_one_connection)
{
	enum { THREADS = 6 };
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, use_a_sandbox_of_its_own,
		                                fixture->connection),
		                 0);
	for (int i = 0; i < THREADS; i++) {
		void *result;

		assert_int_equal(pthread_join(threads[i], &result), 0);
		assert_ptr_equal(result, fixture->connection);
	}
}

WITH_FIXTURE(a_sandbox_ends_with_its_handle)
{
	struct yett_sandbox *sandbox = create(fixture->connection);
	int out[2];
	char byte;

	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	yett_command_free(start(sandbox,
	                        SH("trap '' TERM HUP; echo; setsid sleep 1000 & sleep 1000"),
	                        (int[]){YETT_STDIO_NULL, out[1], YETT_STDIO_NULL}));
	(void)close(out[1]);
	assert_int_equal(read(out[0], &byte, 1), 1);
	assert_int_equal(yett_sandbox_ended(sandbox), YETT_ENDED_NOT);
	assert_done(yett_sandbox_end(sandbox, &error));
	yett_sandbox_close(sandbox);
	assert_int_equal(read(out[0], &byte, 1), 0); /* nobody holds the pipe any more */
	(void)close(out[0]);
	expect_status(fixture->sandbox, ARGV("true"),
	              0); /* the other sandbox of the connection lives */
}

WITH_FIXTURE(a_command_whose_sandbox_ends_says_so)
{
	struct yett_sandbox *sandbox = create(fixture->connection);
	struct yett_command *command = start(sandbox, ARGV("sleep", "1000"), NULL);
	const struct yett_result *result = NULL;

	assert_done(yett_sandbox_end(sandbox, &error));
	yett_sandbox_close(sandbox);
	assert_int_equal(yett_command_wait(command, waiting_deadline_ms(), &result, &error),
	                 YETT_E_NOT_RUNNING);
	yett_command_free(command);
}

TEST(closing_the_connection_ends_its_sandboxes)
{
	struct yett_connection *connection = NULL;
	struct yett_command *command;
	struct yett_sandbox *sandbox;
	const struct yett_result *result = NULL;
	int r;

	assert_done(yett_connect(NULL, &connection, &error));
	sandbox = create(connection);
	command = start(sandbox, ARGV("sleep", "1000"), NULL);
	yett_connection_close(connection);
	r = yett_command_wait(command, waiting_deadline_ms(), &result, &error);
	assert_int_equal(r, YETT_E_NOT_RUNNING);
	assert_int_not_equal(yett_sandbox_ended(sandbox), YETT_ENDED_NOT);
	yett_command_free(command);
	(void)yett_sandbox_end(sandbox, &error);
	yett_sandbox_close(sandbox);
}

static void count_event(const struct yett_event *event, void *data)
{
	unsigned *counts = data;

	counts[event->kind]++;
}

WITH_FIXTURE(an_event_stream_goes_on_without_its_connection)
{
	struct yett_connection *other = NULL;
	struct yett_events *events = NULL;
	unsigned counts[YETT_EVENT_DENIED + 1] = {0};
	int r;

	assert_done(yett_connect(NULL, &other, &error));
	assert_done(yett_sandbox_follow(other, yett_sandbox_get_info(fixture->sandbox)->id,
	                                count_event, counts, &events, &error));
	yett_connection_close(other);
	expect_status(fixture->sandbox, ARGV("true"), 0);
	do {
		struct pollfd wait = {.fd = yett_events_fd(events), .events = POLLIN};

		assert_int_equal(poll(&wait, 1, waiting_deadline_ms()), 1);
		r = yett_events_dispatch(events, &error);
	} while (r == 0 && counts[YETT_EVENT_EXITED] == 0);
	assert_done(r);
	assert_int_equal(counts[YETT_EVENT_STARTED], 1);
	yett_events_free(events);
}

WITH_FIXTURE(a_sandbox_that_lingers_passes_from_handle_to_handle)
{
	static const char *const labels[] = {"app=test", NULL};
	const struct yett_sandbox_options options = {.size = sizeof options,
	                                             .name = "passed-on",
	                                             .labels = labels,
	                                             .flags = YETT_SANDBOX_LINGER};
	struct yett_sandbox *sandbox = NULL, *again = NULL;
	struct yett_sandbox_status *status = NULL;
	struct yett_sandbox_list *list = NULL;
	struct yett_connection *other = NULL;
	char id[YETT_ID_SIZE];

	assert_done(yett_sandbox_create(fixture->connection, &options, &sandbox, &error));
	memcpy(id, yett_sandbox_get_info(sandbox)->id, sizeof id);
	expect_status(sandbox, SH("echo kept > /tmp/file"), 0);
	assert_done(yett_connect(NULL, &other, &error));
	assert_done(yett_sandbox_attach(other, "passed-on", &again, &error));
	assert_string_equal(yett_sandbox_get_info(again)->id, id);
	assert_int_equal(yett_sandbox_get_info(again)->private_uid,
	                 yett_sandbox_get_info(sandbox)->private_uid);
	assert_int_equal(yett_sandbox_create(other, &options, &sandbox, &error),
	                 YETT_E_ALREADY_EXISTS);
	assert_done(yett_sandbox_inspect(other, id, &status, &error));
	assert_int_equal(status->attached, 2);
	assert_string_equal(status->labels[0], "app=test");
	assert_int_equal(status->flags, YETT_SANDBOX_LINGER);
	yett_free(status);
	yett_sandbox_close(sandbox);
	expect_status(again, SH("test $(cat /tmp/file) = kept"), 0);
	assert_done(yett_sandbox_pause(fixture->connection, id, &error));
	assert_int_equal(yett_sandbox_resume(other, "nobody", &error), YETT_E_NOT_FOUND);
	assert_done(yett_sandbox_resume(other, id, &error));
	expect_status(again, ARGV("true"), 0);
	assert_int_equal(yett_sandbox_state(again), YETT_STATE_RUNNING);
	assert_done(yett_sandboxes_list(other, 0, &list, &error));
	assert_int_equal(yett_sandbox_list_count(list), 2);
	yett_free(list);
	assert_int_equal(yett_sandboxes_list(other, YETT_LIST_ALL, &list, &error),
	                 YETT_E_PERMISSION_DENIED);
	assert_int_equal(yett_sandboxes_list(other, 2, &list, &error), YETT_E_INVALID_REQUEST);
	assert_done(yett_sandbox_end(again, &error));
	yett_sandbox_close(again);
	assert_int_equal(yett_sandbox_inspect(other, id, &status, &error), YETT_E_NOT_FOUND);
	assert_int_equal(yett_sandbox_end_by_id(other, "passed-on", &error), YETT_E_NOT_FOUND);
	yett_connection_close(other);
	expect_status(fixture->sandbox, ARGV("true"), 0);
}

WITH_FIXTURE(a_sandbox_that_lingers_is_not_said_to_end_without_a_connection)
{
	const struct yett_sandbox_options options = {
		.size = sizeof options, .name = "left", .flags = YETT_SANDBOX_LINGER};
	struct yett_sandbox *sandbox = NULL;
	struct yett_connection *other = NULL;

	assert_done(yett_connect(NULL, &other, &error));
	assert_done(yett_sandbox_create(other, &options, &sandbox, &error));
	yett_connection_close(other);
	assert_int_equal(yett_sandbox_end(sandbox, &error), YETT_E_NOT_RUNNING);
	assert_non_null(strstr(error.message, "yett_sandbox_end_by_id()"));
	yett_sandbox_close(sandbox);
	assert_done(yett_sandbox_end_by_id(fixture->connection, "left", &error));
}

WITH_FIXTURE(several_sandboxes_of_one_connection_are_apart)
{
	struct yett_sandbox *other = create(fixture->connection);
	const struct yett_sandbox_info *one = yett_sandbox_get_info(fixture->sandbox),
				       *two = yett_sandbox_get_info(other);

	assert_string_not_equal(one->id, two->id);
	assert_int_not_equal(one->private_uid, two->private_uid);
	assert_string_equal(one->profile, "default");
	assert_int_equal(strlen(one->id), 16);
	expect_status(fixture->sandbox, SH("echo x >/tmp/file"), 0);
	expect_status(other, SH("test ! -e /tmp/file"), 0);
	assert_done(yett_sandbox_end(other, &error));
	yett_sandbox_close(other);
}

WITH_FIXTURE(commands_start_in_the_first_share)
{
	static const struct yett_share shares[] = {
		{.size = sizeof(struct yett_share), .path = "/usr/share", .target = "/srv/first"},
		{.size = sizeof(struct yett_share), .path = "/usr", .target = "/srv/second"}};
	static const struct {
		const char *directory, *expected;
	} rows[] = {{NULL, "/srv/first\n"}, {"/tmp", "/tmp\n"}, {"/", "/\n"}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct yett_sandbox_options options = {.size = sizeof options,
		                                             .shares = shares,
		                                             .shares_count = 2,
		                                             .directory = rows[i].directory};
		struct yett_sandbox *sandbox = NULL;
		char *text;

		assert_done(yett_sandbox_create(fixture->connection, &options, &sandbox, &error));
		text = output_of(sandbox, ARGV("pwd"));
		assert_string_equal(text, rows[i].expected);
		free(text);
		assert_done(yett_sandbox_end(sandbox, &error));
		yett_sandbox_close(sandbox);
	}
}

WITH_FIXTURE(a_share_can_be_a_descriptor)
{
	char directory[] = "/tmp/yett-library-XXXXXX", path[64];
	struct yett_sandbox *sandbox = NULL;
	struct yett_share share = {.size = sizeof share,
	                           .fd = -1,
	                           .flags = YETT_SHARE_WRITABLE | YETT_SHARE_FD,
	                           .target = "/work"};
	const struct yett_sandbox_options options = {
		.size = sizeof options, .shares = &share, .shares_count = 1};

	assert_non_null(mkdtemp(directory));
	share.fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_done(yett_sandbox_create(fixture->connection, &options, &sandbox, &error));
	(void)close(share.fd);
	expect_status(sandbox, SH("echo x >/work/file"), 0);
	assert_done(yett_sandbox_end(sandbox, &error));
	yett_sandbox_close(sandbox);
	(void)snprintf(path, sizeof path, "%s/file", directory);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(directory), 0);
}

WITH_FIXTURE(refusals_carry_code_and_rule_and_leave_the_connection_usable)
{
	struct yett_sandbox *sandbox = NULL;
	struct yett_sandbox_options options = {.size = sizeof options,
	                                       .profile = "no-such-profile"};

	assert_int_equal(yett_sandbox_create(fixture->connection, &options, &sandbox, &error),
	                 YETT_E_PERMISSION_DENIED);
	assert_false(yett_error_retryable(&error));
	options = (struct yett_sandbox_options){.size = sizeof(struct yett_sandbox_options),
	                                        .memory_bytes = UINT64_C(1) << 40};
	assert_int_equal(yett_sandbox_create(fixture->connection, &options, &sandbox, &error),
	                 YETT_E_PERMISSION_DENIED);
	assert_non_null(strstr(error.detail, "asked 1T, allowed 32G"));
	options = (struct yett_sandbox_options){
		.size = sizeof(struct yett_sandbox_options),
		.tmpfs = &(struct yett_tmpfs){.size = sizeof(struct yett_tmpfs),
	                                      .target = "/proc/x"},
		.tmpfs_count = 1};
	assert_int_equal(yett_sandbox_create(fixture->connection, &options, &sandbox, &error),
	                 YETT_E_INVALID_REQUEST);
	assert_null(sandbox);
	sandbox = create(fixture->connection);
	assert_done(yett_sandbox_end(sandbox, &error));
	yett_sandbox_close(sandbox);
}

TEST(a_signer_of_the_programs_own_signs)
{
	struct yett_connect_options options = {.size = sizeof options};
	struct yett_connection *connection = NULL;
	struct yett_signer *signer = NULL;
	struct yett_sandbox *sandbox = NULL;

	assert_done(yett_signer_load(NULL, &signer, &error));
	options.signer = signer;
	assert_done(yett_connect(&options, &connection, &error));
	sandbox = create(connection);
	expect_status(sandbox, ARGV("true"), 0);
	assert_done(yett_sandbox_end(sandbox, &error));
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	yett_signer_free(signer);
}

static size_t count_descriptors(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

TEST(nothing_is_left_in_the_program)
{
	size_t before = count_descriptors();
	sigset_t signals;

	for (int i = 0; i < 5; i++) {
		assert_int_equal(set_up(state), 0);
		expect_status(((struct fixture *)*state)->sandbox, ARGV("true"), 0);
		assert_int_equal(tear_down(state), 0);
	}
	assert_int_equal(count_descriptors(), before);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &signals), 0);
	assert_int_equal(sigisemptyset(&signals), 1);
}

TEST_MAIN(NULL, NULL)
