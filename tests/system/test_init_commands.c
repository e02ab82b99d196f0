/* SPDX-License-Identifier: Apache-2.0 */
/* What yett-init knows of commands that others ask about: by their ids, from any channel, with the
 * outputs that it keeps. */
#include <string.h>

#include "tests/support/init_sandbox.h"
#include "tests/support/testing.h"

#include "programs/inside/init/records.h"
#include "protocol/frame_message.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>

/* The answer to a query about one. */
static const struct message_command *ask(struct sandbox *sandbox, enum query_action action,
                                         uint64_t id)
{
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, action, id));
	assert_int_equal(message.body.commands.commands_count, 1);
	assert_int_equal(message.body.commands.commands[0].id, id);
	return &message.body.commands.commands[0];
}

static const char *text_of(const struct message_command *command, size_t i)
{
	return message_text(&message, command->argv[i]);
}

/* What is kept of an output, whose descriptor it closes. */
static const char *kept(int fd, size_t length)
{
	static char bytes[65536];

	assert_true(length < sizeof bytes);
	assert_int_equal(pread(fd, bytes, length, 0), length);
	bytes[length] = '\0';
	close(fd);
	return bytes;
}

WITH_SANDBOX(each_command_has_an_id_of_its_own)
{
	uint64_t first = exec_command(sandbox, ARGV("cat", "/nonexistent", "é"));

	expect(sandbox, MESSAGE_STARTED, first);
	assert_int_equal(message.body.started.command, 1);
	expect(sandbox, MESSAGE_EXITED, first);
	expect_error(sandbox, exec_command(sandbox, ARGV("/nonexistent")), YETT_E_COMMAND_FAILED,
	             YETT_R_NONE);
	expect_status(sandbox, exec_command(sandbox, ARGV("true")), 0);
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, 0));
	assert_int_equal(message.body.commands.last, 3);
	assert_int_equal(message.body.commands.commands_count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(message.body.commands.commands[i].id, i + 1);
	assert_string_equal(text_of(&message.body.commands.commands[0], 0), "cat");
	assert_string_equal(text_of(&message.body.commands.commands[0], 2), "é");
	assert_int_equal(message.body.commands.commands[0].argv_count, 3);
	assert_string_equal(text_of(&message.body.commands.commands[2], 0), "true");
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, 3));
	assert_int_equal(message.body.commands.commands_count, 1);
	expect_error(sandbox, query(sandbox, QUERY_STATUS, 0), YETT_E_NOT_FOUND, YETT_R_NONE);
	expect_error(sandbox, query(sandbox, QUERY_WAIT, 4), YETT_E_NOT_FOUND, YETT_R_NONE);
	contains(message_text(&message, message.body.error.message), "there was no command 4");
}

/* With `count` pieces of metadata, each of so many bytes with its NUL, whose keys differ unless
 * `alike`. */
static uint64_t exec_with_metadata(struct sandbox *sandbox, unsigned count, int size, bool alike)
{
	struct message_exec *exec = &message.body.exec;
	char text[MESSAGE_METADATA_MAX + 1];

	for (unsigned i = 0; i < count; i++) {
		(void)snprintf(text, sizeof text, "k%02u=%0*u", alike ? 0 : i, size - 5, i);
		assert_int_equal(
			message_add_text(&message, text, &exec->metadata[exec->metadata_count++]),
			0);
	}
	return send_exec(sandbox, ARGV("true"), NULL, 0);
}

WITH_SANDBOX(metadata_are_kept_with_the_command)
{
	enum {
		COMMANDS = MESSAGE_COMMANDS_MAX + 4,
		SIZE = MESSAGE_METADATA_MAX / MESSAGE_METADATA_ITEMS_MAX
	};

	for (unsigned i = 0; i < COMMANDS; i++) {
		clear_exec();
		expect_status(sandbox,
		              exec_with_metadata(sandbox, MESSAGE_METADATA_ITEMS_MAX, SIZE, false),
		              0);
	}
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, 0));
	assert_int_equal(message.body.commands.commands_count, MESSAGE_COMMANDS_MAX);
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, MESSAGE_COMMANDS_MAX + 1));
	assert_int_equal(message.body.commands.commands_count, 4);
	for (size_t i = 0; i < 4; i++) {
		const struct message_command *command = &message.body.commands.commands[i];

		assert_int_equal(command->metadata_count, MESSAGE_METADATA_ITEMS_MAX);
		for (uint32_t j = 0; j < command->metadata_count; j++)
			assert_int_equal(atoi(message_text(&message, command->metadata[j]) + 4), j);
	}
}

WITH_SANDBOX(metadata_beyond_their_bounds_are_refused)
{
	clear_exec();
	expect_error(sandbox, exec_with_metadata(sandbox, 2, 16, true), YETT_E_INVALID_REQUEST,
	             YETT_R_RANGE);
	clear_exec();
	expect_error(sandbox, exec_with_metadata(sandbox, 2, MESSAGE_METADATA_MAX / 2 + 1, false),
	             YETT_E_INVALID_REQUEST, YETT_R_TOO_LONG);
	clear_exec();
	message.body.exec.file_operation = true;
	expect_error(sandbox, exec_with_metadata(sandbox, 1, 16, false), YETT_E_INVALID_REQUEST,
	             YETT_R_NONE);
	expect_status(sandbox, exec_command(sandbox, ARGV("true")), 0);
	assert_int_equal(ask(sandbox, QUERY_STATUS, 1)->metadata_count, 0);
}

static void bound_commands(uint64_t usual_ms, uint64_t most_ms)
{
	prepare();
	config.command_ms = usual_ms;
	config.command_max_ms = most_ms;
	(void)snprintf(config.command_section, sizeof config.command_section, "grant");
	(void)snprintf(config.command_name, sizeof config.command_name, "few");
	(void)snprintf(config.command_place, sizeof config.command_place, "/etc/yett/yett.conf:12");
}

TEST(a_command_that_asks_for_no_time_has_the_usual_one)
{
	struct sandbox *sandbox;

	bound_commands(50, 1000000);
	sandbox = start_prepared();
	(void)expect_end(sandbox, exec_command(sandbox, ARGV("sleep", "1000")));
	assert_true(message.body.exited.timed_out);
	assert_true(message.body.exited.wall_us >= 50000);
	finish(sandbox);
}

TEST(a_command_that_asks_for_more_time_than_there_is_is_refused_by_the_rule)
{
	struct sandbox *sandbox;
	const struct message_error *error = &message.body.error;

	bound_commands(500000, 600000);
	sandbox = start_prepared();
	expect_error(sandbox, exec_fds(sandbox, ARGV("true"), NULL, 600001),
	             YETT_E_PERMISSION_DENIED, YETT_R_NONE);
	assert_string_equal(message_text(&message, error->rule),
	                    "max_command_timeout of grant 'few'");
	assert_string_equal(message_text(&message, error->file), "/etc/yett/yett.conf");
	assert_int_equal(error->line, 12);
	assert_string_equal(message_text(&message, error->allowed), "10m");
	expect_status(sandbox, exec_fds(sandbox, ARGV("true"), NULL, 600000), 0);
	finish(sandbox);
}

/* The usual time is of what users run. */
TEST(a_file_operation_has_all_the_time_that_there_is)
{
	struct sandbox *sandbox;

	bound_commands(20, 300);
	sandbox = start_prepared();
	clear_exec();
	message.body.exec.file_operation = true;
	(void)expect_end(sandbox, send_exec(sandbox, ARGV("sleep", "1000"), NULL, 0));
	assert_true(message.body.exited.timed_out);
	assert_true(message.body.exited.wall_us >= 300000);
	finish(sandbox);
}

WITH_SANDBOX(the_states_of_commands_are_told_apart)
{
	const struct message_command *command;
	uint64_t running;

	expect_status(sandbox, exec_command(sandbox, SH("exit 3")), 3);
	command = ask(sandbox, QUERY_STATUS, 1);
	assert_int_equal(command->state, EXECUTION_COMPLETED);
	assert_int_equal(command->result.status, 3);
	assert_true(command->result.wall_us > 0 && command->result.memory_peak_bytes > 0 &&
	            command->started_ms > 0);
	assert_int_equal(command->result.started_ms, command->started_ms);
	assert_true(command->result.ended_ms >= command->started_ms);
	expect_error(sandbox, exec_command(sandbox, ARGV("/nonexistent")), YETT_E_COMMAND_FAILED,
	             YETT_R_NONE);
	command = ask(sandbox, QUERY_STATUS, 2);
	assert_int_equal(command->state, EXECUTION_FAILED);
	assert_int_equal(command->code, YETT_E_COMMAND_FAILED);
	assert_int_equal(command->error_number, ENOENT);
	(void)expect_end(sandbox, exec_fds(sandbox, ARGV("sleep", "1000"), NULL, 50));
	assert_int_equal(ask(sandbox, QUERY_STATUS, 3)->state, EXECUTION_TIMEOUT);
	(void)expect_end(sandbox, exec_command(sandbox, SH("kill -SEGV $$")));
	command = ask(sandbox, QUERY_STATUS, 4);
	assert_int_equal(command->state, EXECUTION_KILLED);
	assert_int_equal(command->result.status, SIGSEGV);
	running = exec_command(sandbox, ARGV("sleep", "1000"));
	expect(sandbox, MESSAGE_STARTED, running);
	command = ask(sandbox, QUERY_STATUS, 5);
	assert_int_equal(command->state, EXECUTION_RUNNING);
	assert_int_equal(command->result.status, 0);
	assert_int_equal(command->result.started_ms, command->started_ms);
	assert_int_equal(command->result.ended_ms, 0);
}

/* Its cgroup counts; and what the commands before it used in the same one is not its own. */
WITH_SANDBOX(what_a_running_command_has_used_is_told)
{
	const struct message_command *command;
	uint64_t spent;

	(void)expect_end(
		sandbox,
		exec_command(sandbox, SH("i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done")));
	spent = message.body.exited.user_us;
	expect(sandbox, MESSAGE_STARTED, exec_command(sandbox, ARGV("sleep", "1000")));
	command = ask(sandbox, QUERY_STATUS, 2);
	assert_true(command->result.wall_us > 0);
	assert_true(command->result.user_us < spent / 2);
	expect(sandbox, MESSAGE_STARTED, exec_command(sandbox, SH("while :; do :; done")));
	do
		command = ask(sandbox, QUERY_STATUS, 3);
	while (with_cgroup && command->result.user_us < 1000);
	assert_true(with_cgroup || command->result.user_us == 0);
}

WITH_SANDBOX(a_command_of_another_channel_is_killed_with_what_it_started)
{
	struct sandbox *other = attach(sandbox);
	int p[2];
	uint64_t sequence;

	assert_return_code(pipe2(p, O_CLOEXEC), errno);
	sequence = exec_fds(sandbox, SH("sleep 1000 & exec sleep 1000"), (int[]){-1, p[1], -1}, 0);
	close(p[1]);
	expect(sandbox, MESSAGE_STARTED, sequence);
	assert_int_equal(ask(other, QUERY_KILL, 1)->id, 1);
	assert_int_equal(ask(other, QUERY_WAIT, 1)->state, EXECUTION_KILLED);
	assert_string_equal(read_all(p[0]), ""); /* nobody has it any more */
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_int_equal(ask(other, QUERY_KILL, 1)->state,
	                 EXECUTION_KILLED); /* too late is no error */
	detach(other);
}

WITH_SANDBOX(who_waits_is_told_of_the_end_and_can_send_signals)
{
	struct sandbox *other = attach(sandbox);
	uint64_t sequence = exec_command(sandbox,
	                                 SH("trap 'exit 9' TERM; while :; do sleep 0.01; done")),
		 wait;

	expect(sandbox, MESSAGE_STARTED, sequence);
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, 0));
	wait = query(other, QUERY_WAIT, 1);
	/* its trap may not be set yet: the shell has started when it has a child */
	(void)ask(other, QUERY_STATUS, 1);
	message.kind = MESSAGE_SIGNAL;
	message.body.signal = (struct message_signal){.command = wait, .signal = SIGKILL};
	assert_int_equal(
		frame_send_message(other->channel, &message, ++other->sequence, NULL, 0, 0), 0);
	expect(other, MESSAGE_COMMANDS, wait);
	assert_int_equal(message.body.commands.commands[0].state, EXECUTION_KILLED);
	expect(sandbox, MESSAGE_EXITED, sequence);
	detach(other);
}

TEST(a_result_outlives_the_channel_of_its_command)
{
	struct sandbox *sandbox, *maker, *other;
	const struct message_command *command;
	uint64_t wait;

	prepare();
	config.linger = true;
	sandbox = start_prepared();
	maker = attach(sandbox);
	wait = exec_captured(maker, SH("cat; echo kept; exit 5"), 4096, false);
	expect(maker, MESSAGE_STARTED, wait);
	detach(maker);
	other = attach(sandbox);
	command = ask(other, QUERY_WAIT, 1);
	assert_int_equal(command->state, EXECUTION_COMPLETED);
	assert_int_equal(command->result.status, 5);
	command = ask(other, QUERY_OUTPUT, 1);
	assert_int_equal(outputs_count, 1);
	assert_string_equal(kept(outputs[0], command->output_bytes[0]), "kept\n");
	detach(other);
	sandbox->control = fd_close(sandbox->control); /* which ends one that lingers */
	finish(sandbox);
}

WITH_SANDBOX(outputs_are_kept_apart_or_in_one)
{
	const struct message_command *command;

	expect_status(sandbox,
	              exec_captured(sandbox, SH("echo one; echo two >&2; echo three >/dev/stdout"),
	                            4096, false),
	              0);
	command = ask(sandbox, QUERY_OUTPUT, 1);
	assert_int_equal(command->captured, OUTPUT_OUT | OUTPUT_ERR);
	assert_int_equal(command->truncated, 0);
	assert_int_equal(outputs_count, 2);
	assert_string_equal(kept(outputs[0], command->output_bytes[0]), "one\nthree\n");
	assert_string_equal(kept(outputs[1], command->output_bytes[1]), "two\n");
	expect_status(sandbox, exec_captured(sandbox, SH("echo one; echo two >&2"), 4096, true), 0);
	command = ask(sandbox, QUERY_OUTPUT, 2);
	assert_int_equal(command->captured, OUTPUT_OUT);
	assert_string_equal(kept(outputs[0], command->output_bytes[0]), "one\ntwo\n");
	/* of none there is no descriptor */
	expect_status(sandbox, exec_captured(sandbox, ARGV("true"), 4096, false), 0);
	command = ask(sandbox, QUERY_OUTPUT, 3);
	assert_int_equal(command->captured, OUTPUT_OUT | OUTPUT_ERR);
	assert_int_equal(outputs_count, 0);
}

WITH_SANDBOX(what_exceeds_the_bound_is_dropped_and_holds_nobody_up)
{
	const struct message_command *command;
	char bytes[1001];

	expect_status(
		sandbox,
		exec_captured(sandbox, SH("yes | head -c 20000000; printf end >&2"), 1000, false),
		0);
	command = ask(sandbox, QUERY_OUTPUT, 1);
	assert_int_equal(command->output_bytes[0], 1000);
	assert_int_equal(command->truncated, OUTPUT_OUT);
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = i % 2 ? '\n' : 'y';
	assert_memory_equal(kept(outputs[0], 1000), bytes, 1000);
	assert_string_equal(kept(outputs[1], command->output_bytes[1]), "end");
	/* exactly the bound is not too much */
	expect_status(sandbox, exec_captured(sandbox, SH("printf 12345678"), 8, false), 0);
	assert_int_equal(ask(sandbox, QUERY_STATUS, 2)->truncated, 0);
	expect_status(sandbox, exec_captured(sandbox, SH("printf 12345678"), 0, false), 0);
	command = ask(sandbox, QUERY_STATUS, 3);
	assert_int_equal(command->truncated, OUTPUT_OUT);
	assert_int_equal(command->output_bytes[0], 0);
}

WITH_SANDBOX(a_descriptor_of_output_shows_what_comes_and_changes_nothing)
{
	const struct message_command *command;
	uint64_t sequence;
	int in[2], fd;

	assert_return_code(pipe2(in, O_CLOEXEC), errno);
	clear_exec();
	message.body.exec.stdio[1] = STDIO_CAPTURE;
	message.body.exec.capture_bytes = 8192;
	sequence = send_exec(sandbox, SH("echo first; read line; echo second"),
	                     (int[]){in[0], -1, -1}, 0);
	close(in[0]);
	expect(sandbox, MESSAGE_STARTED, sequence);
	do
		command = ask(sandbox, QUERY_OUTPUT, 1);
	while (outputs_count == 0);
	assert_int_equal(command->state, EXECUTION_RUNNING);
	assert_int_equal(command->output_bytes[0], 6);
	fd = outputs[0];
	assert_int_equal(pwrite(fd, "X", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	close(in[1]);
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_string_equal(kept(fd, 13), "first\nsecond\n");
}

/* Of which the last one runs so long that a child is ready for a next one then, as for rest(). */
static void run_captured(struct sandbox *sandbox, uint64_t count)
{
	while (count-- > 1)
		expect_status(sandbox, exec_captured(sandbox, ARGV("true"), 4096, false), 0);
	expect_status(sandbox, exec_captured(sandbox, SH("sleep 0.2"), 4096, false), 0);
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, 0));
}

WITH_SANDBOX(the_oldest_results_go_first)
{
	size_t fds;

	run_captured(sandbox, 10);
	fds = count_fds(sandbox->pid);
	run_captured(sandbox, RECORDS_MAX + 3 - 10);
	assert_int_equal(count_fds(sandbox->pid), fds);
	expect_error(sandbox, query(sandbox, QUERY_STATUS, 3), YETT_E_NOT_FOUND, YETT_R_NONE);
	contains(message_text(&message, message.body.error.message), "no longer kept");
	assert_int_equal(ask(sandbox, QUERY_STATUS, 4)->state, EXECUTION_COMPLETED);
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, 0));
	assert_int_equal(message.body.commands.commands_count, MESSAGE_COMMANDS_MAX);
	assert_int_equal(message.body.commands.commands[0].id, 4);
	assert_int_equal(message.body.commands.commands[MESSAGE_COMMANDS_MAX - 1].id,
	                 4 + MESSAGE_COMMANDS_MAX - 1);
}

TEST(results_that_nobody_has_fetched_outlive_those_that_were)
{
	struct sandbox *sandbox, *maker, *other;
	uint64_t sequence;
	int in[2];

	prepare();
	config.linger = true;
	sandbox = start_prepared();
	other = attach(sandbox);
	/* 1 and 2: their clients go away before the end. 3: its client hears of it, and has yet to
	 * get what it wrote. */
	for (int i = 0; i < 2; i++) {
		assert_return_code(pipe2(in, O_CLOEXEC), errno);
		maker = attach(sandbox);
		sequence = exec_fds(maker, SH("read line; exit 8"), (int[]){in[0], -1, -1}, 0);
		expect(maker, MESSAGE_STARTED, sequence);
		detach(maker);
		expect(other, MESSAGE_COMMANDS, query(other, QUERY_LIST, 0));
		close(in[0]);
		close(in[1]);
	}
	(void)ask(other, QUERY_WAIT, 1);
	expect_status(other, exec_captured(other, SH("echo kept"), 4096, false), 0);
	for (uint64_t id = 4; id < RECORDS_MAX + 10; id++)
		expect_status(other, exec_command(other, ARGV("true")), 0);
	/* 1 was fetched by the wait, so it went as any other */
	expect_error(other, query(other, QUERY_STATUS, 1), YETT_E_NOT_FOUND, YETT_R_NONE);
	assert_int_equal(ask(other, QUERY_WAIT, 2)->result.status, 8);
	assert_int_equal(ask(other, QUERY_OUTPUT, 3)->output_bytes[0], 5);
	close(outputs[0]);
	for (uint64_t i = 0; i < RECORDS_MAX; i++)
		expect_status(other, exec_command(other, ARGV("true")), 0);
	expect_error(other, query(other, QUERY_STATUS, 2), YETT_E_NOT_FOUND, YETT_R_NONE);
	expect_error(other, query(other, QUERY_STATUS, 3), YETT_E_NOT_FOUND, YETT_R_NONE);
	detach(other);
	sandbox->control = fd_close(sandbox->control);
	finish(sandbox);
}

static uint64_t exec_operation(struct sandbox *sandbox, char *const *argv)
{
	clear_exec();
	message.body.exec.file_operation = true;
	return send_exec(sandbox, argv, NULL, 0);
}

WITH_SANDBOX(file_operations_are_counted_apart_and_leave_no_result)
{
	uint64_t running;

	expect_status(sandbox, exec_command(sandbox, ARGV("true")), 0);
	for (int i = 0; i < RECORDS_MAX + 4; i++)
		expect_status(sandbox, exec_operation(sandbox, ARGV("true")), 0);
	running = exec_operation(sandbox, ARGV("sleep", "1000"));
	expect(sandbox, MESSAGE_STARTED, running);
	assert_int_equal(message.body.started.command, MESSAGE_FILE_OPERATION | (RECORDS_MAX + 5));
	expect_status(sandbox, exec_command(sandbox, ARGV("true")), 0);
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, 0));
	assert_int_equal(message.body.commands.last, 2);
	assert_int_equal(message.body.commands.commands_count, 2);
	/* one that runs is told of to who asks for it, and can be killed */
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, MESSAGE_FILE_OPERATION));
	assert_int_equal(message.body.commands.commands_count, 1);
	assert_string_equal(text_of(&message.body.commands.commands[0], 0), "sleep");
	(void)query(sandbox, QUERY_KILL, MESSAGE_FILE_OPERATION | (RECORDS_MAX + 5));
	expect(sandbox, MESSAGE_COMMANDS, sandbox->sequence);
	expect(sandbox, MESSAGE_EXITED, running);
	expect_error(sandbox, query(sandbox, QUERY_STATUS, MESSAGE_FILE_OPERATION | 1),
	             YETT_E_NOT_FOUND, YETT_R_NONE);
	clear_exec();
	message.body.exec.file_operation = true;
	message.body.exec.stdio[1] = STDIO_CAPTURE;
	expect_error(sandbox, send_exec(sandbox, ARGV("true"), NULL, 0), YETT_E_INVALID_REQUEST,
	             YETT_R_NONE);
}

static uint64_t follow(struct sandbox *sandbox, uint64_t id, uint64_t out, uint64_t err)
{
	message.kind = MESSAGE_QUERY;
	message.body.query = (struct message_query){
		.action = QUERY_FOLLOW, .command = id, .output_bytes = {out, err}};
	assert_int_equal(
		frame_send_message(sandbox->channel, &message, ++sandbox->sequence, NULL, 0, 0), 0);
	return sandbox->sequence;
}

WITH_SANDBOX(who_follows_is_told_when_there_is_more)
{
	struct sandbox *other = attach(sandbox);
	uint64_t sequence;
	int in[2];

	assert_return_code(pipe2(in, O_CLOEXEC), errno);
	clear_exec();
	message.body.exec.stdio[1] = message.body.exec.stdio[2] = STDIO_CAPTURE;
	message.body.exec.capture_bytes = 8192;
	sequence = send_exec(sandbox, SH("echo first; read line; echo second >&2; read line"),
	                     (int[]){in[0], -1, -1}, 0);
	close(in[0]);
	expect(sandbox, MESSAGE_STARTED, sequence);
	expect(other, MESSAGE_COMMANDS, follow(other, 1, 0, 0));
	assert_int_equal(outputs_count, 1);
	assert_string_equal(kept(outputs[0], 6), "first\n");
	assert_int_equal(message.body.commands.commands[0].state, EXECUTION_RUNNING);
	sequence = follow(other, 1, 6, 0);
	(void)ask(sandbox, QUERY_STATUS,
	          1); /* it is asked for when this is answered, and nothing has come */
	assert_int_equal(write(in[1], "\n", 1), 1);
	expect(other, MESSAGE_COMMANDS, sequence);
	assert_int_equal(message.body.commands.commands[0].output_bytes[1], 7);
	assert_int_equal(outputs_count, 2);
	close(outputs[0]);
	close(outputs[1]);
	sequence = follow(other, 1, 6, 7);
	close(in[1]);
	expect(other, MESSAGE_COMMANDS, sequence);
	assert_int_equal(message.body.commands.commands[0].state, EXECUTION_COMPLETED);
	for (size_t i = 0; i < outputs_count; i++)
		close(outputs[i]);
	detach(other);
}

WITH_SANDBOX(input_can_be_given_later_and_has_an_end)
{
	struct sandbox *other = attach(sandbox);
	size_t fds = fds_at_rest(sandbox);
	uint64_t sequence;
	int first;

	clear_exec();
	message.body.exec.stdio[0] = STDIO_CAPTURE;
	message.body.exec.stdio[1] = STDIO_CAPTURE;
	message.body.exec.capture_bytes = 8192;
	sequence =
		send_exec(sandbox, SH("read line </dev/stdin; echo \"$line\"; exec cat"), NULL, 0);
	expect(sandbox, MESSAGE_STARTED, sequence);
	(void)ask(other, QUERY_INPUT, message.body.started.command);
	assert_int_equal(outputs_count, 1);
	first = outputs[0];
	assert_int_equal(fcntl(first, F_GETFL) & O_ACCMODE, O_WRONLY);
	assert_int_equal(write(first, "one\n", 4), 4);
	(void)ask(other, QUERY_LAST_INPUT, 3);
	assert_int_equal(outputs_count, 1);
	expect_error(other, query(other, QUERY_INPUT, 3), YETT_E_INVALID_REQUEST, YETT_R_NONE);
	assert_int_equal(write(outputs[0], "two\n", 4), 4);
	close(first);
	close(outputs[0]);
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_int_equal(ask(other, QUERY_OUTPUT, 3)->output_bytes[0], 8);
	assert_string_equal(kept(outputs[0], 8), "one\ntwo\n");
	expect_error(other, query(other, QUERY_INPUT, 3), YETT_E_NOT_RUNNING, YETT_R_NONE);
	/* one that ends by itself leaves nothing behind but what is kept of it */
	clear_exec();
	message.body.exec.stdio[0] = STDIO_CAPTURE;
	expect_status(sandbox, send_exec(sandbox, ARGV("true"), NULL, 0), 0);
	expect_status(sandbox, exec_command(sandbox, ARGV("true")), 0);
	expect_error(other, query(other, QUERY_INPUT, 5), YETT_E_NOT_RUNNING, YETT_R_NONE);
	assert_int_equal(fds_at_rest(sandbox), fds + 1); /* the memory with the output of 3 */
	detach(other);
}

static uint64_t send_signal(struct sandbox *sandbox, uint64_t id, uint32_t number)
{
	message.kind = MESSAGE_QUERY;
	message.body.query =
		(struct message_query){.action = QUERY_SIGNAL, .command = id, .signal = number};
	assert_int_equal(
		frame_send_message(sandbox->channel, &message, ++sandbox->sequence, NULL, 0, 0), 0);
	return sandbox->sequence;
}

WITH_SANDBOX(a_command_of_another_channel_is_sent_a_signal_by_its_id)
{
	struct sandbox *other = attach(sandbox);
	uint64_t sequence = exec_command(sandbox, ARGV("sleep", "1000"));

	expect(sandbox, MESSAGE_STARTED, sequence);
	expect_error(other, send_signal(other, 1, 0), YETT_E_INVALID_REQUEST, YETT_R_RANGE);
	expect(other, MESSAGE_COMMANDS, send_signal(other, 1, SIGUSR1));
	expect(sandbox, MESSAGE_EXITED, sequence);
	assert_true(message.body.exited.signaled);
	assert_int_equal(message.body.exited.status, SIGUSR1);
	expect_error(other, send_signal(other, 1, SIGUSR1), YETT_E_NOT_RUNNING, YETT_R_NONE);
	expect_error(other, send_signal(other, 2, SIGUSR1), YETT_E_NOT_FOUND, YETT_R_NONE);
	detach(other);
}

TEST(kept_output_is_bounded_by_the_sandboxs_memory)
{
	struct sandbox *sandbox;
	const struct message_command *command;

	prepare();
	config.memory_bytes = 4 << 20;
	sandbox = start_prepared();
	for (int i = 0; i < 4; i++)
		expect_status(sandbox,
		              exec_captured(sandbox, SH("yes | head -c 400000"), 1 << 20, false),
		              0);
	/* a mebibyte holds two of them */
	expect_error(sandbox, query(sandbox, QUERY_STATUS, 2), YETT_E_NOT_FOUND, YETT_R_NONE);
	assert_int_equal(ask(sandbox, QUERY_STATUS, 3)->output_bytes[0], 400000);
	assert_int_equal(ask(sandbox, QUERY_STATUS, 4)->output_bytes[0], 400000);
	/* and there is nothing to be had from a command that still runs */
	expect_status(sandbox, exec_captured(sandbox, SH("yes | head -c 4000000"), 4 << 20, false),
	              0);
	command = ask(sandbox, QUERY_STATUS, 5);
	assert_int_equal(command->output_bytes[0], 1 << 20);
	assert_int_equal(command->truncated, OUTPUT_OUT);
	finish(sandbox);
}

WITH_SANDBOX(what_outlives_a_command_does_not_hold_up_its_output)
{
	const struct message_command *command;

	expect_status(sandbox,
	              exec_captured(sandbox, SH("setsid sleep 1000 & echo here"), 4096, false), 0);
	command = ask(sandbox, QUERY_OUTPUT, 1);
	assert_string_equal(kept(outputs[0], command->output_bytes[0]), "here\n");
}

WITH_SANDBOX(what_does_not_go_together_is_refused)
{
	static const struct {
		uint32_t stdio[3];
		uint64_t bytes;
		bool terminal;
	} rows[] = {
		{{STDIO_CAPTURE, 0, 0}, 0, true},    {{STDIO_AS_OUTPUT, 0, 0}, 0, false},
		{{0, STDIO_AS_OUTPUT, 0}, 0, false}, {{0, 0, 0}, 1, false},
		{{0, STDIO_CAPTURE, 0}, 1, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		clear_exec();
		memcpy(message.body.exec.stdio, rows[i].stdio, sizeof rows[i].stdio);
		message.body.exec.capture_bytes = rows[i].bytes;
		message.body.exec.terminal = rows[i].terminal;
		expect_error(sandbox, send_exec(sandbox, ARGV("true"), NULL, 0),
		             YETT_E_INVALID_REQUEST, YETT_R_NONE);
		terminals_due = 0;
	}
	expect(sandbox, MESSAGE_COMMANDS, query(sandbox, QUERY_LIST, 0));
	assert_int_equal(message.body.commands.last, 0); /* none of them was one */
	expect_serving(sandbox);
}

/* An EXEC of `argv` with further texts from memory of `size` bytes; sealed, or not. */
static uint64_t exec_more(struct sandbox *sandbox, char *const *argv, const void *bytes,
                          size_t length, uint64_t size, uint32_t more_argv, uint32_t more_env,
                          bool is_sealed)
{
	uint64_t sequence;

	more_memory = memfd_create("more", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_return_code(more_memory, errno);
	assert_return_code(ftruncate(more_memory, (off_t)size), errno);
	assert_int_equal(pwrite(more_memory, bytes, length, 0), length);
	if (is_sealed)
		assert_return_code(fd_seal(more_memory), errno);
	clear_exec();
	message.body.exec.more_bytes = size;
	message.body.exec.more_argv = more_argv;
	message.body.exec.more_env = more_env;
	message.body.exec.stdio[1] = STDIO_CAPTURE;
	message.body.exec.capture_bytes = 60000;
	sequence = send_exec(sandbox, argv, NULL, 0);
	close(more_memory);
	return sequence;
}

WITH_SANDBOX(arguments_and_variables_beyond_a_packet_come_in_memory)
{
	static char many[300000];
	size_t used = 0;

	expect_status(sandbox,
	              exec_more(sandbox, SH("echo $# $1$2; printenv A B"), "sh\0x\0\xff\0A=1\0B=\n",
	                        15, 15, 3, 2, true),
	              0);
	assert_int_equal(ask(sandbox, QUERY_OUTPUT, 1)->output_bytes[0], 9);
	assert_memory_equal(kept(outputs[0], 9), "2 x\xff\n1\n\n\n", 9);
	assert_string_equal(text_of(&message.body.commands.commands[0], 2),
	                    "echo $# $1$2; printenv A B");
	assert_true(message.body.commands.commands[0].argv_cut);
	while (used < 60000 * 5)
		used += (size_t)sprintf(many + used, "%04zu", used / 5 % 10000) + 1;
	expect_status(sandbox,
	              exec_more(sandbox, SH("echo $# ${59999}"), many, used, used, 60000, 0, true),
	              0);
	(void)ask(sandbox, QUERY_OUTPUT, 2);
	assert_string_equal(kept(outputs[0], message.body.commands.commands[0].output_bytes[0]),
	                    "59999 9999\n");
}

WITH_SANDBOX(memory_that_is_not_what_is_said_is_refused)
{
	static const struct {
		const char *bytes;
		size_t length;
		uint64_t size;
		uint32_t argv, env;
		bool is_sealed;
		enum yett_code code;
	} cases[] = {
		{"a\0", 2, 2, 1, 0, false, YETT_E_SECURITY_VIOLATION},
		{"a\0", 2, 2, 0, 0, true, YETT_E_INVALID_REQUEST},
		{"a\0", 2, 2, 2, 1, true, YETT_E_INVALID_REQUEST},
		{"a\0", 2, 2, 2, 0, true, YETT_E_COMMAND_FAILED},    /* fewer than is said */
		{"a\0b\0", 4, 4, 1, 0, true, YETT_E_COMMAND_FAILED}, /* more */
		{"ab", 2, 2, 1, 0, true, YETT_E_COMMAND_FAILED},     /* without an end */
		{"a\0", 2, 2, 0, 1, true, YETT_E_COMMAND_FAILED},    /* no variable */
		{"=\0", 2, 2, 0, 1, true, YETT_E_COMMAND_FAILED},
		{"", 0, MESSAGE_TEXTS_MAX, 1, 0, true,
	         YETT_E_COMMAND_FAILED}, /* nothing but a hole: as many texts, all empty */
		{"", 0, MESSAGE_TEXTS_MAX, MESSAGE_TEXTS_MAX, 0, true,
	         YETT_E_COMMAND_FAILED}, /* which execve(2) does not take */
	};
	uint64_t sequence;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		sequence =
			exec_more(sandbox, ARGV("true"), cases[i].bytes, cases[i].length,
		                  cases[i].size, cases[i].argv, cases[i].env, cases[i].is_sealed);
		expect_error(sandbox, sequence, cases[i].code, YETT_R_NONE);
	}
	assert_int_equal(message.body.error.error_number, E2BIG);
	/* of another size than is said; none at all; something else */
	more_memory = fd_new_sealed("more", "a", 2);
	clear_exec();
	message.body.exec.more_bytes = 3;
	message.body.exec.more_argv = 1;
	expect_error(sandbox, send_exec(sandbox, ARGV("true"), NULL, 0), YETT_E_SECURITY_VIOLATION,
	             YETT_R_SIZE);
	close(more_memory);
	more_memory = open("/etc/passwd", O_RDONLY | O_CLOEXEC);
	clear_exec();
	message.body.exec.more_bytes = 3;
	message.body.exec.more_argv = 1;
	expect_error(sandbox, send_exec(sandbox, ARGV("true"), NULL, 0), YETT_E_SECURITY_VIOLATION,
	             YETT_R_NONE);
	close(more_memory);
	clear_exec();
	message.body.exec.more_argv = 1;
	expect_error(sandbox, send_exec(sandbox, ARGV("true"), NULL, 0), YETT_E_INVALID_REQUEST,
	             YETT_R_NONE);
	expect_serving(sandbox);
}

WITH_SANDBOX(two_hundred_commands_at_once_keep_their_outputs)
{
	char expected[32];

	for (uint64_t id = 1; id <= 200; id++) {
		char script[64];

		(void)snprintf(script, sizeof script, "echo number %llu", (unsigned long long)id);
		(void)exec_captured(sandbox, SH(script), 4096, id % 2);
	}
	for (uint64_t id = 1; id <= 200; id++) {
		const struct message_command *command;
		uint64_t sequence, wait = query(sandbox, QUERY_WAIT, id);

		while (receive(sandbox, &sequence) != MESSAGE_COMMANDS)
			assert_int_equal(message.kind == MESSAGE_STARTED ||
			                         message.kind == MESSAGE_EXITED,
			                 true);
		assert_int_equal(sequence, wait);
		assert_int_equal(message.body.commands.commands[0].state, EXECUTION_COMPLETED);
		wait = query(sandbox, QUERY_OUTPUT, id);
		while (receive(sandbox, &sequence) != MESSAGE_COMMANDS)
			continue;
		command = &message.body.commands.commands[0];
		assert_int_equal(sequence, wait);
		(void)snprintf(expected, sizeof expected, "number %llu\n", (unsigned long long)id);
		assert_int_equal(outputs_count, 1);
		assert_string_equal(kept(outputs[0], command->output_bytes[0]), expected);
	}
}

/* A SESSION that sets the directory, up to two variables, and takes one away; NULL: not. Returns
 * its sequence. */
static uint64_t change(struct sandbox *sandbox, const char *cwd, const char *set, const char *more,
                       const char *unset)
{
	struct message_session *session = &message.body.session;

	message.kind = MESSAGE_SESSION;
	message.arena_used = 0;
	memset(session, 0, sizeof *session);
	assert_int_equal(message_add_text(&message, cwd ? cwd : "", &session->cwd), 0);
	if (set)
		assert_int_equal(
			message_add_text(&message, set, &session->set[session->set_count++]), 0);
	if (more)
		assert_int_equal(
			message_add_text(&message, more, &session->set[session->set_count++]), 0);
	if (unset)
		assert_int_equal(
			message_add_text(&message, unset, &session->unset[session->unset_count++]),
			0);
	assert_int_equal(
		frame_send_message(sandbox->channel, &message, ++sandbox->sequence, NULL, 0, 0), 0);
	return sandbox->sequence;
}

/* What a command sees whose request says nothing. */
static const char *seen(struct sandbox *sandbox, char *const *argv)
{
	memset(&message.body.exec, 0, sizeof message.body.exec);
	message.arena_used = 0;
	return output_of_prepared(sandbox, argv);
}

WITH_SANDBOX(what_a_session_has_later_commands_begin_with)
{
	struct sandbox *other = attach(sandbox);
	const struct message_surroundings *told = &message.body.surroundings;

	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, NULL, NULL, NULL, NULL));
	assert_int_equal(told->cwd.length, 0);
	assert_int_equal(told->env_count, 0);
	assert_string_equal(seen(sandbox, SH("pwd; echo $A")), "/\n\n");
	expect(other, MESSAGE_SURROUNDINGS, change(other, "/tmp", "A=1", "LANG=de", NULL));
	assert_string_equal(seen(sandbox, SH("pwd; echo $A $LANG")), "/tmp\n1 de\n");
	assert_string_equal(output_of(sandbox, SH("pwd; echo $A")),
	                    "/\n1\n"); /* its request names a directory */
	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, NULL, "B=2", "B=3", "A"));
	assert_string_equal(message_text(&message, told->cwd), "/tmp");
	assert_int_equal(told->env_count, 2);
	assert_string_equal(message_text(&message, told->env[0]), "LANG=de");
	assert_string_equal(message_text(&message, told->env[1]), "B=3");
	memset(&message.body.exec, 0, sizeof message.body.exec);
	message.arena_used = 0;
	assert_int_equal(message_add_text(&message, "B=4",
	                                  &message.body.exec.env[message.body.exec.env_count++]),
	                 0);
	assert_string_equal(output_of_prepared(sandbox, SH("echo $A $B")), "4\n");
	expect_error(sandbox, change(sandbox, "relative", "C=1", NULL, NULL),
	             YETT_E_INVALID_REQUEST, YETT_R_NONE);
	expect_error(sandbox, change(sandbox, NULL, "C=1", NULL, "D=1"), YETT_E_INVALID_REQUEST,
	             YETT_R_NONE);
	assert_string_equal(seen(sandbox, SH("echo $C $B")),
	                    "3\n"); /* refused, it changes nothing */
	detach(other);
}

/* The number in the sandbox of the only child that init has now. proc_pid_status(5) */
static unsigned long pid_of_child(const struct sandbox *sandbox)
{
	char path[64], line[256];
	unsigned long outside = 0, inside = 0;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", sandbox->pid, sandbox->pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%lu", &outside), 1);
	assert_int_equal(fclose(file), 0);
	(void)snprintf(path, sizeof path, "/proc/%lu/status", outside);
	file = fopen(path, "re");
	assert_non_null(file);
	while (inside == 0 && fgets(line, sizeof line, file))
		if (strncmp(line, "NSpid:", 6) == 0)
			inside = strtoul(strrchr(line, '\t'), NULL, 10);
	assert_int_equal(fclose(file), 0);
	return inside;
}

WITH_SANDBOX(a_child_that_waits_follows_the_session)
{
	char expected[64];
	const char *told;

	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, "/usr", "A=1", "B=2", NULL));
	assert_int_equal(count_children_at_rest(sandbox), 1);
	(void)snprintf(expected, sizeof expected, "%lu /tmp 3 4\n", pid_of_child(sandbox));
	expect_error(sandbox, change(sandbox, "relative", "C=5", NULL, NULL),
	             YETT_E_INVALID_REQUEST, YETT_R_NONE);
	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, "/tmp", "A=3", "C=4", "B"));
	expect_error(sandbox, change(sandbox, "/var", "A=5", NULL, "B=2"), YETT_E_INVALID_REQUEST,
	             YETT_R_NONE);
	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, NULL, NULL, NULL, NULL));
	assert_string_equal(seen(sandbox, SH("echo $$ $PWD $A $B $C")), expected);
	/* Of one that does so again and again another command would be told to have used the time.
	 */
	assert_int_equal(count_children_at_rest(sandbox), 1);
	(void)snprintf(expected, sizeof expected, "%lu /usr 3\n", pid_of_child(sandbox));
	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, "/var", NULL, NULL, NULL));
	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, "/usr", NULL, NULL, NULL));
	told = seen(sandbox, SH("echo $$ $PWD $A"));
	assert_string_not_equal(told, expected);
	assert_string_equal(strchr(told, ' '), strchr(expected, ' '));
}

WITH_SANDBOX(a_session_is_bounded)
{
	char variable[20000] = "A=", text[32];

	memset(variable + 2, 'x', sizeof variable - 3);
	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, NULL, variable, NULL, NULL));
	variable[0] = 'B';
	expect_error(sandbox, change(sandbox, NULL, variable, NULL, NULL), YETT_E_RESOURCE_LIMIT,
	             YETT_R_NONE);
	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, NULL, variable, NULL, "A"));
	expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, NULL, NULL, NULL, "B"));
	for (unsigned i = 0; i < 1024; i++) {
		(void)snprintf(text, sizeof text, "V%u=%u", i, i);
		expect(sandbox, MESSAGE_SURROUNDINGS, change(sandbox, NULL, text, NULL, NULL));
	}
	expect_error(sandbox, change(sandbox, NULL, "one=more", NULL, NULL), YETT_E_RESOURCE_LIMIT,
	             YETT_R_NONE);
	assert_string_equal(seen(sandbox, SH("echo $V0 $V1023 $LANG")), "0 1023 C.UTF-8\n");
}

static int run(const char *name)
{
	return testing_run(name, NULL, NULL);
}

int main(void)
{
	return run_rounds(run);
}
