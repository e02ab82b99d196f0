/* SPDX-License-Identifier: Apache-2.0 */
/* What the library asks an init about commands by their ids, against one played here. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "tests/support/testing.h"
#include "tests/unit/client_peer.h"

/* An answer to the query of this sequence, of one command with a kept output of so many bytes. */
static void say_command(struct peer *peer, uint64_t sequence, uint64_t id, uint64_t length,
                        const int *fds, size_t count)
{
	struct message_commands *list = &prepare(peer, MESSAGE_COMMANDS)->body.commands;

	list->last = id;
	list->commands_count = 1;
	list->commands[0] = (struct message_command){.id = id,
	                                             .state = EXECUTION_COMPLETED,
	                                             .pid = 7,
	                                             .captured = OUTPUT_OUT,
	                                             .output_bytes = {length}};
	say(peer, peer->init, sequence, fds, count);
}

/* Memory of 8 bytes, "captured", with these seals. */
static int memory(int seals)
{
	int fd = memfd_create("memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_int_equal(write(fd, "captured", 8), 8);
	assert_return_code(fcntl(fd, F_ADD_SEALS, seals), errno);
	return fd;
}

#define WITH_PEER(test) TEST_OF(test, struct peer *peer, peer_make, peer_free)

WITH_PEER(an_output_is_taken_from_memory_that_cannot_shrink)
{
	struct yett_captured *kept = NULL;
	int sealed = memory(F_SEAL_SHRINK), open_one = memory(F_SEAL_GROW),
	    file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct {
		int fd;
		uint64_t length;
	} lies[] = {{open_one, 8}, {sealed, 9}, {file, 8}};

	peer_create(peer);
	say_command(peer, 1, 1, 8, &sealed, 1);
	assert_int_equal(
		yett_command_output(peer->sandbox, 1, YETT_STREAM_OUT, &kept, &peer->error), 0);
	assert_string_equal(kept->bytes, "captured");
	yett_free(kept);
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		say_command(peer, 2 + i, 1, lies[i].length, &lies[i].fd, 1);
		assert_int_equal(
			yett_command_output(peer->sandbox, 1, YETT_STREAM_OUT, &kept, &peer->error),
			YETT_E_SECURITY_VIOLATION);
	}
	fd_close(sealed);
	fd_close(open_one);
	fd_close(file);
}

TEST_WITH(an_answer_about_what_was_not_asked_breaks_the_protocol, peer_make, peer_free)
{
	struct peer *peer = *state;
	int fds[2] = {memory(F_SEAL_SHRINK), memory(F_SEAL_SHRINK)};
	struct yett_command_status *status;
	struct yett_command_list *list;
	struct yett_captured *kept = NULL;

	for (int i = 0; i < 5; i++) {
		int r;

		peer_create(peer);
		switch (i) {
		case 0: /* another command */
			say_command(peer, 1, 2, 0, NULL, 0);
			r = yett_command_inspect(peer->sandbox, 1, &status, &peer->error);
			break;
		case 1: /* a descriptor that was not asked for */
			say_command(peer, 1, 1, 8, fds, 1);
			r = yett_command_inspect(peer->sandbox, 1, &status, &peer->error);
			break;
		case 2: /* more of them than outputs */
			say_command(peer, 1, 1, 8, fds, 2);
			r = yett_command_output(peer->sandbox, 1, YETT_STREAM_OUT, &kept,
			                        &peer->error);
			break;
		case 3: /* none */
			say_command(peer, 1, 1, 8, NULL, 0);
			r = yett_command_output(peer->sandbox, 1, YETT_STREAM_OUT, &kept,
			                        &peer->error);
			break;
		default: /* ids that do not rise */
			say_command(peer, 1, 1, 0, NULL, 0);
			r = yett_commands_list(peer->sandbox, &list, &peer->error);
			assert_int_equal(r, 0);
			assert_int_equal(yett_command_list_count(list), 1);
			assert_int_equal(yett_command_list_get(list, 0)->id, 1);
			assert_null(yett_command_list_get(list, 1));
			yett_free(list);
			prepare(peer, MESSAGE_COMMANDS)->body.commands.commands_count = 2;
			for (int j = 0; j < 2; j++)
				peer->message.body.commands.commands[j] =
					(struct message_command){.id = 5, .pid = 1};
			say(peer, peer->init, 2, NULL, 0);
			r = yett_commands_list(peer->sandbox, &list, &peer->error);
		}
		assert_int_equal(r, YETT_E_PROTOCOL);
		peer_free(state);
		peer_make(state);
		peer = *state;
	}
	fd_close(fds[0]);
	fd_close(fds[1]);
}

WITH_PEER(a_command_that_was_attached_to_ends_with_the_answer)
{
	struct yett_command *command = NULL;
	const struct yett_result *result = NULL;

	peer_create(peer);
	say_command(peer, 1, 3, 0, NULL, 0);
	assert_int_equal(yett_command_attach(peer->sandbox, 3, NULL, &command, &peer->error), 0);
	say_exited(peer, 2, 0); /* which is not about it */
	assert_int_equal(yett_command_wait(command, 0, &result, &peer->error), YETT_E_TIMEOUT);
	say_command(peer, 2, 3, 0, NULL, 0);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), 0);
	yett_command_free(command);
}

struct heard {
	char bytes[64];
	size_t length;
};

static void hear_output(struct yett_command *command, enum yett_stream stream, const char *bytes,
                        size_t length, void *data)
{
	struct heard *heard = data;

	(void)command;
	assert_int_equal(stream, YETT_STREAM_OUT);
	assert_true(heard->length + length < sizeof heard->bytes);
	memcpy(heard->bytes + heard->length, bytes, length);
	heard->length += length;
}

/* The same as say_command(), of one that runs. */
static void say_running(struct peer *peer, uint64_t sequence, uint64_t length, const int *fds,
                        size_t count)
{
	struct message_commands *list = &prepare(peer, MESSAGE_COMMANDS)->body.commands;

	list->commands_count = 1;
	list->commands[0] = (struct message_command){.id = 3,
	                                             .state = EXECUTION_RUNNING,
	                                             .pid = 7,
	                                             .captured = OUTPUT_OUT,
	                                             .output_bytes = {length}};
	say(peer, peer->init, sequence, fds, count);
}

WITH_PEER(who_follows_asks_for_what_is_not_told_yet)
{
	int fd = memory(F_SEAL_SHRINK);
	struct heard heard = {0};
	const struct yett_follow_options options = {
		.size = sizeof options, .on_output = hear_output, .data = &heard};
	struct yett_command *command = NULL;
	const struct yett_result *result = NULL;

	peer_create(peer);
	say_running(peer, 1, 3, NULL, 0);
	assert_int_equal(yett_command_follow(peer->sandbox, 3, &options, &command, &peer->error),
	                 0);
	hear(peer, peer->init);
	hear(peer, peer->init);
	assert_int_equal(peer->message.body.query.action, QUERY_FOLLOW);
	assert_int_equal(peer->message.body.query.output_bytes[0], 0);
	say_running(peer, 2, 3, &fd, 1);
	assert_int_equal(yett_command_wait(command, SHORT_MS, &result, &peer->error),
	                 YETT_E_TIMEOUT);
	assert_memory_equal(heard.bytes, "cap", 3);
	hear(peer, peer->init);
	assert_int_equal(peer->envelope.sequence, 3);
	assert_int_equal(peer->message.body.query.output_bytes[0], 3);
	assert_int_equal(yett_command_signal(command, 10, &peer->error), 0);
	hear(peer, peer->init);
	assert_int_equal(peer->message.body.query.action, QUERY_SIGNAL);
	assert_int_equal(peer->message.body.query.command, 3);
	say_command(peer, 3, 3, 8, &fd, 1);
	assert_int_equal(yett_command_wait(command, -1, &result, &peer->error), 0);
	assert_int_equal(heard.length, 8);
	assert_memory_equal(heard.bytes, "captured", 8);
	yett_command_free(command);
	fd_close(fd);
}

TEST_WITH(who_is_followed_may_not_lie, peer_make, peer_free)
{
	struct peer *peer = *state;
	int sealed = memory(F_SEAL_SHRINK), open_one = memory(F_SEAL_GROW);
	const struct {
		uint64_t length;
		const int *fd;
		bool is_second; /* of what was told before: 5 bytes */
	} lies[] = {{5, &open_one, false}, {9, &sealed, false}, {5, NULL, false},
	            {0, NULL, false},      {5, &sealed, true},  {4, &sealed, true}};
	const struct yett_result *result = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct heard heard = {0};
		const struct yett_follow_options options = {
			.size = sizeof options, .on_output = hear_output, .data = &heard};
		struct yett_command *command = NULL;

		peer_create(peer);
		say_running(peer, 1, 5, NULL, 0);
		assert_int_equal(
			yett_command_follow(peer->sandbox, 3, &options, &command, &peer->error), 0);
		if (lies[i].is_second)
			say_running(peer, 2, 5, &sealed, 1);
		say_running(peer, lies[i].is_second ? 3 : 2, lies[i].length, lies[i].fd,
		            lies[i].fd ? 1 : 0);
		assert_int_equal(yett_command_wait(command, SHORT_MS, &result, &peer->error),
		                 YETT_E_PROTOCOL);
		assert_int_equal(heard.length, lies[i].is_second ? 5 : 0);
		yett_command_free(command);
		peer_free(state);
		peer_make(state);
		peer = *state;
	}
	fd_close(sealed);
	fd_close(open_one);
}

WITH_PEER(an_input_is_a_pipe_to_write_to)
{
	int ends[2], socket[2], fd = -1, file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_return_code(pipe2(ends, O_CLOEXEC), errno);
	assert_return_code(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socket), errno);
	peer_create(peer);
	say_command(peer, 1, 3, 0, &ends[1], 1);
	assert_int_equal(yett_command_input(peer->sandbox, 3, true, &fd, &peer->error), 0);
	assert_int_equal(write(fd, "x", 1), 1);
	fd = fd_close(fd);
	for (int i = 0; i < 3; i++) {
		say_command(peer, 2 + (uint64_t)i, 3, 0,
		            (const int[]){i == 0   ? ends[0]
		                          : i == 1 ? socket[0]
		                                   : file},
		            1);
		assert_int_equal(yett_command_input(peer->sandbox, 3, false, &fd, &peer->error),
		                 YETT_E_SECURITY_VIOLATION);
	}
	say_command(peer, 5, 3, 0, NULL, 0);
	assert_int_equal(yett_command_input(peer->sandbox, 3, false, &fd, &peer->error),
	                 YETT_E_PROTOCOL);
	for (int i = 0; i < 2; i++) {
		fd_close(ends[i]);
		fd_close(socket[i]);
	}
	fd_close(file);
}

WITH_PEER(metadata_are_told_again)
{
	struct yett_command_status *status = NULL;
	struct message_command *reported;

	peer_create(peer);
	reported = &prepare(peer, MESSAGE_COMMANDS)->body.commands.commands[0];
	*reported = (struct message_command){.id = 3, .pid = 7, .metadata_count = 2};
	reported->metadata[0] = put(peer, "run=7");
	reported->metadata[1] = put(peer, "who=");
	peer->message.body.commands.commands_count = 1;
	say(peer, peer->init, 1, NULL, 0);
	assert_int_equal(yett_command_inspect(peer->sandbox, 3, &status, &peer->error), 0);
	assert_string_equal(status->metadata[0], "run=7");
	assert_string_equal(status->metadata[1], "who=");
	assert_null(status->metadata[2]);
	yett_free(status);
	say_command(peer, 2, 3, 0, NULL, 0);
	assert_int_equal(yett_command_inspect(peer->sandbox, 3, &status, &peer->error), 0);
	assert_null(status->metadata[0]);
	yett_free(status);
}

TEST_MAIN(NULL, NULL)
