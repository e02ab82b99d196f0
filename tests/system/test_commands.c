/* SPDX-License-Identifier: Apache-2.0 */
/* Commands of a sandbox by their ids, their outputs kept or streamed, and their input, on libyett
 * against a real service. */
#include "tests/support/library.h"
#include "tests/support/testing.h"
#include "tests/support/waiting.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static const int captured[] = {YETT_STDIO_NULL, YETT_STDIO_CAPTURE, YETT_STDIO_CAPTURE};
static const int combined[] = {YETT_STDIO_NULL, YETT_STDIO_CAPTURE, YETT_STDIO_AS_OUTPUT};
static const int streamed[] = {YETT_STDIO_NULL, YETT_STDIO_STREAM, YETT_STDIO_STREAM};

#define COMMAND(...)                                                     \
	{                                                                \
		.size = sizeof(struct yett_command_options), __VA_ARGS__ \
	}

static struct yett_connection *connection;
static struct yett_sandbox *sandbox; /* of the tests that need no other */

static int set_up(void **state)
{
	(void)state;
	assert_done(yett_connect(NULL, &connection, &error));
	assert_done(yett_sandbox_create(connection, NULL, &sandbox, &error));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_done(yett_sandbox_end(sandbox, &error));
	yett_sandbox_close(sandbox);
	yett_connection_close(connection);
	return 0;
}

static struct yett_command *start(struct yett_sandbox *in,
                                  const struct yett_command_options *options)
{
	struct yett_command *command = NULL;

	assert_done(yett_sandbox_exec(in, options, &command, &error));
	return command;
}

static struct yett_result wait_for(struct yett_command *command)
{
	const struct yett_result *result;

	assert_done(yett_command_wait(command, waiting_deadline_ms(), &result, &error));
	return *result;
}

/* Runs it to its end, with its output kept, and returns its id. */
static uint64_t run_kept(const char *const *argv, const int *stdio, size_t bytes)
{
	struct yett_command *command = start(
		sandbox, &(struct yett_command_options){.size = sizeof(struct yett_command_options),
	                                                .argv = argv,
	                                                .stdio = stdio,
	                                                .capture_bytes = bytes});
	uint64_t id;

	(void)wait_for(command);
	id = yett_command_id(command);
	yett_command_free(command);
	return id;
}

static void expect_output(struct yett_sandbox *in, uint64_t id, enum yett_stream stream,
                          const char *expected, bool is_cut)
{
	struct yett_captured *kept = NULL;

	assert_done(yett_command_output(in, id, stream, &kept, &error));
	assert_string_equal(kept->bytes, expected);
	assert_int_equal(kept->length, strlen(expected));
	assert_int_equal(kept->truncated, is_cut);
	yett_free(kept);
}

TEST(outputs_are_kept_for_whoever_asks)
{
	struct yett_captured *none;
	uint64_t id =
		run_kept(SH("echo one; echo two >&2; echo three >/dev/stdout"), captured, 4096);

	expect_output(sandbox, id, YETT_STREAM_OUT, "one\nthree\n", false);
	expect_output(sandbox, id, YETT_STREAM_ERR, "two\n", false);
	id = run_kept(SH("echo one; echo two >&2"), combined, 4096);
	expect_output(sandbox, id, YETT_STREAM_OUT, "one\ntwo\n", false);
	assert_int_equal(yett_command_output(sandbox, id, YETT_STREAM_ERR, &none, &error),
	                 YETT_E_INVALID_REQUEST);
	id = run_kept(SH("yes | head -c 5000000"), captured, 10);
	expect_output(sandbox, id, YETT_STREAM_OUT, "y\ny\ny\ny\ny\n", true);
	expect_output(sandbox, id, YETT_STREAM_ERR, "", false);
	assert_int_equal(yett_command_output(sandbox, id + 1, YETT_STREAM_OUT, &none, &error),
	                 YETT_E_NOT_FOUND);
	assert_non_null(strstr(error.message, "there was no command"));
}

TEST(commands_are_listed_with_what_became_of_them)
{
	struct yett_command_status *status = NULL;
	const struct yett_command_status *last;
	struct yett_command_list *list;
	struct yett_command *command;
	uint64_t first = run_kept(SH("exit 4"), captured, 0), failed;
	size_t count;

	command = start(sandbox,
	                &(struct yett_command_options){.size = sizeof(struct yett_command_options),
	                                               .argv = ARGV("sleep", "1000")});
	assert_int_equal(yett_command_id(command), first + 1);
	assert_int_equal(yett_command_wait(command, 0, NULL, &error), YETT_E_TIMEOUT);
	assert_done(yett_commands_list(sandbox, &list, &error));
	count = yett_command_list_count(list);
	assert_true(count >= 2);
	for (size_t i = 1; i < count; i++)
		assert_true(yett_command_list_get(list, i)->id >
		            yett_command_list_get(list, i - 1)->id);
	last = yett_command_list_get(list, count - 1);
	assert_int_equal(last->size, sizeof *last);
	assert_int_equal(last->id, first + 1);
	assert_string_equal(last->text, "sleep 1000");
	assert_string_equal(last->argv[0], "sleep");
	assert_string_equal(last->argv[1], "1000");
	assert_null(last->argv[2]);
	assert_null(last->error);
	assert_true(last->state <= YETT_COMMAND_RUNNING);
	yett_free(list);
	assert_done(yett_command_inspect(sandbox, first, &status, &error));
	assert_int_equal(status->state, YETT_COMMAND_COMPLETED);
	assert_int_equal(status->result->status, 4);
	assert_true(status->result->wall_us > 0 && status->started_ms > 0);
	yett_free(status);
	assert_done(yett_command_kill(sandbox, first + 1, &error));
	assert_int_equal(wait_for(command).status, SIGKILL);
	assert_done(yett_command_inspect(sandbox, first + 1, &status, &error));
	assert_string_equal(yett_command_state_name(status->state), "killed");
	yett_free(status);
	yett_command_free(command);
	command = start(sandbox,
	                &(struct yett_command_options){.size = sizeof(struct yett_command_options),
	                                               .argv = ARGV("/nonexistent")});
	assert_int_equal(yett_command_wait(command, waiting_deadline_ms(), NULL, &error),
	                 YETT_E_COMMAND_FAILED);
	yett_command_free(command);
	failed = first + 2;
	assert_done(yett_command_inspect(sandbox, failed, &status, &error));
	assert_int_equal(status->state, YETT_COMMAND_FAILED);
	assert_int_equal(status->error->os_error, ENOENT);
	yett_free(status);
}

/* Makes a sandbox that lingers, starts a command in it that goes on when it gets a signal, and is
 * killed. */
static _Noreturn void be_killed(int ready)
{
	const struct yett_sandbox_options options = {
		.size = sizeof options, .name = "kept", .flags = YETT_SANDBOX_LINGER};
	const struct yett_command_options run = {
		.size = sizeof run,
		.argv = SH(
			"trap 'echo collected; echo late >&2; exit 6' USR1; echo ready; while :; do :; done"),
		.stdio = captured,
		.capture_bytes = 4096};
	struct yett_connection *own;
	struct yett_sandbox *made;
	struct yett_command *command;
	struct yett_captured *kept = NULL;

	if (yett_connect(NULL, &own, &error) || yett_sandbox_create(own, &options, &made, &error) ||
	    yett_sandbox_exec(made, &run, &command, &error))
		_exit(1);
	if (yett_command_id(command) == 0)
		_exit(2);
	do { /* until its trap is set */
		yett_free(kept);
		kept = NULL;
	} while (yett_command_output(made, yett_command_id(command), YETT_STREAM_OUT, &kept,
	                             &error) == 0 &&
	         kept->length == 0);
	(void)!write(ready, &(uint64_t){yett_command_id(command)}, sizeof(uint64_t));
	for (;;)
		(void)pause();
}

TEST(who_attaches_collects_what_a_killed_client_started)
{
	struct yett_sandbox *attached;
	struct yett_command *command;
	struct yett_result result;
	const struct yett_result *none = NULL;
	int ready[2], status;
	uint64_t id = 0;
	pid_t client;

	assert_return_code(pipe2(ready, O_CLOEXEC), errno);
	client = fork();
	if (client == 0)
		be_killed(ready[1]);
	close(ready[1]);
	assert_int_equal(read(ready[0], &id, sizeof id), sizeof id);
	close(ready[0]);
	assert_return_code(kill(client, SIGKILL), errno);
	assert_int_equal(waitpid(client, &status, 0), client);

	assert_done(yett_sandbox_attach(connection, "kept", &attached, &error));
	assert_done(yett_command_attach(attached, id, NULL, &command, &error));
	assert_int_equal(yett_command_wait(command, 0, &none, &error), YETT_E_TIMEOUT);
	expect_output(attached, id, YETT_STREAM_OUT, "ready\n", false);
	assert_done(yett_command_signal(command, SIGUSR1, &error));
	result = wait_for(command);
	assert_null(none);
	assert_false(result.signaled);
	assert_int_equal(result.status, 6);
	yett_command_free(command);
	expect_output(attached, id, YETT_STREAM_OUT, "ready\ncollected\n", false);
	expect_output(attached, id, YETT_STREAM_ERR, "late\n", false);
	/* and whoever comes when all is over */
	yett_sandbox_close(attached);
	assert_done(yett_sandbox_attach(connection, "kept", &attached, &error));
	assert_done(yett_command_attach(attached, id, NULL, &command, &error));
	assert_int_equal(wait_for(command).status, 6);
	yett_command_free(command);
	expect_output(attached, id, YETT_STREAM_OUT, "ready\ncollected\n", false);
	assert_int_equal(yett_command_attach(attached, 99, NULL, &command, &error),
	                 YETT_E_NOT_FOUND);
	assert_done(yett_sandbox_end(attached, &error));
	yett_sandbox_close(attached);
}

TEST(a_session_is_the_same_for_every_handle)
{
	const struct yett_sandbox_options options = {
		.size = sizeof options, .name = "session", .flags = YETT_SANDBOX_LINGER};
	const struct yett_command_options show = {.size = sizeof show,
	                                          .argv = SH("pwd; echo $A $B")};
	struct yett_sandbox *made, *attached;
	struct yett_session *session = NULL;
	struct yett_output *output = NULL;

	assert_done(yett_sandbox_create(connection, &options, &made, &error));
	assert_done(yett_session_change(made, "/tmp", ARGV("A=1", "B=2"), NULL, &error));
	assert_done(yett_sandbox_attach(connection, "session", &attached, &error));
	assert_done(yett_session_change(attached, NULL, NULL, ARGV("B", "C"), &error));
	assert_done(yett_session_get(made, &session, &error));
	assert_string_equal(session->directory, "/tmp");
	assert_string_equal(session->env[0], "A=1");
	assert_null(session->env[1]);
	yett_free(session);
	assert_done(yett_run(attached, &show, 4096, &output, &error));
	assert_string_equal(output->out, "/tmp\n1\n");
	yett_free(output);
	assert_int_equal(yett_session_change(made, "tmp", NULL, NULL, &error),
	                 YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_session_change(made, NULL, ARGV("A"), NULL, &error),
	                 YETT_E_INVALID_REQUEST);
	assert_int_equal(yett_session_change(made, NULL, NULL, ARGV("A=1"), &error),
	                 YETT_E_INVALID_REQUEST);
	assert_done(yett_session_change(made, "/nonexistent", NULL, NULL, &error));
	assert_int_equal(yett_run(made, &show, 4096, &output, &error), YETT_E_COMMAND_FAILED);
	assert_string_equal(error.step, "working-directory");
	assert_done(yett_sandbox_end(made, &error));
	yett_sandbox_close(made);
	yett_sandbox_close(attached);
}

struct heard {
	char bytes[2][65536];
	size_t length[2], total;
	bool is_over;
};

static void hear(struct yett_command *command, enum yett_stream stream, const char *bytes,
                 size_t length, void *data)
{
	struct heard *heard = data;

	(void)command;
	assert_false(heard->is_over);
	heard->total += length;
	if (length > sizeof heard->bytes[0] - 1 - heard->length[stream])
		length = sizeof heard->bytes[0] - 1 - heard->length[stream];
	memcpy(heard->bytes[stream] + heard->length[stream], bytes, length);
	heard->length[stream] += length;
}

static void be_over(struct yett_command *command, void *data)
{
	(void)command;
	((struct heard *)data)->is_over = true;
}

TEST(streams_come_before_the_end_by_waiting_or_by_polling)
{
	static struct heard heard;
	struct yett_command_options options = {
		.size = sizeof options,
		.argv = SH("echo one; echo two >&2; head -c 3000000 /dev/zero"),
		.stdio = streamed,
		.on_output = hear,
		.on_exit = be_over,
		.data = &heard};
	struct yett_command *command = start(sandbox, &options);

	(void)wait_for(command);
	yett_command_free(command);
	assert_string_equal(heard.bytes[0], "one\n");
	assert_string_equal(heard.bytes[1], "two\n");
	assert_int_equal(heard.total, 3000008);
	heard = (struct heard){0};
	command = start(sandbox, &options);
	while (!heard.is_over) {
		struct pollfd entry = {.fd = yett_sandbox_fd(sandbox), .events = POLLIN};

		assert_int_equal(poll(&entry, 1, waiting_deadline_ms()), 1);
		assert_done(yett_sandbox_dispatch(sandbox, &error));
	}
	yett_command_free(command);
	assert_int_equal(heard.total, 3000008);
}

TEST(bytes_are_read_as_input)
{
	static struct heard heard;
	char large[100000];
	struct yett_command_options options = {.size = sizeof options,
	                                       .argv = SH("cat; cat /dev/stdin >&2"),
	                                       .stdio = streamed,
	                                       .on_output = hear,
	                                       .input = "hello\n",
	                                       .input_length = 6,
	                                       .data = &heard};
	struct yett_command *command = start(sandbox, &options);

	(void)wait_for(command);
	yett_command_free(command);
	assert_string_equal(heard.bytes[0], "hello\n");
	assert_string_equal(heard.bytes[1], "hello\n"); /* opened anew, it begins anew */
	memset(large, 'x', sizeof large);
	heard = (struct heard){0};
	options.argv = ARGV("cat");
	options.input = large;
	options.input_length = sizeof large;
	command = start(sandbox, &options);
	(void)wait_for(command);
	yett_command_free(command);
	assert_int_equal(heard.total, sizeof large);
	heard = (struct heard){0};
	options.input_length = 0;
	command = start(sandbox, &options);
	assert_int_equal(wait_for(command).status, 0);
	yett_command_free(command);
	assert_int_equal(heard.total, 0);
}

TEST(what_does_not_go_together_is_refused)
{
	static const int as_input[] = {YETT_STDIO_CAPTURE, YETT_STDIO_NULL, YETT_STDIO_NULL},
			 twice[] = {YETT_STDIO_NULL, YETT_STDIO_AS_OUTPUT, YETT_STDIO_NULL},
			 unknown[] = {YETT_STDIO_NULL, YETT_STDIO_NULL, -1};
	const int both[] = {0, YETT_STDIO_NULL, YETT_STDIO_NULL};
	const struct yett_command_options rows[] = {
		COMMAND(.argv = ARGV("true"), .stdio = as_input, .capture_bytes = 1),
		COMMAND(.argv = ARGV("true"), .stdio = twice),
		COMMAND(.argv = ARGV("true"), .stdio = unknown),
		COMMAND(.argv = ARGV("true"), .stdio = streamed),
		COMMAND(.argv = ARGV("true"), .stdio = both, .input = ""),
		COMMAND(.argv = ARGV("true"), .capture_bytes = 1),
		COMMAND(.argv = ARGV("true"), .stdio = captured,
	                .capture_bytes = YETT_CAPTURE_MAX + 1),
		COMMAND(.argv = ARGV("true"), .terminal = true, .input = ""),
		COMMAND(.argv = ARGV("true"), .terminal = true, .stdio = captured),
	};
	struct yett_command *command;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (yett_sandbox_exec(sandbox, &rows[i], &command, &error) !=
		    YETT_E_INVALID_REQUEST)
			fail_msg("row %zu is not refused", i);
	(void)run_kept(ARGV("true"), NULL, 0);
}

TEST_MAIN(set_up, tear_down)
