/* SPDX-License-Identifier: Apache-2.0 */
/* Packets and descriptors over a real socket pair. */

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "protocol/codec.h"
#include "protocol/envelope.h"
#include "protocol/frame_message.h"
#include "tests/support/testing.h"

static struct frame frame;
static struct message message;
static uint8_t large[MESSAGE_PACKET_MAX + 5000];

static int open_pair(void **state)
{
	static int sockets[2];

	*state = sockets;
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets);
}

static int close_pair(void **state)
{
	int *sockets = *state;

	sockets[0] = fd_close(sockets[0]);
	sockets[1] = fd_close(sockets[1]);
	return 0;
}

static unsigned count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

/* As a peer with no bounds of its own would do it. */
static void send_raw(int socket, size_t length, size_t fd_count)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(int) * 253)];
	} control = {0};
	struct iovec part = {.iov_base = large, .iov_len = length};
	struct msghdr header = {.msg_iov = &part, .msg_iovlen = 1};
	int fds[253];

	for (size_t i = 0; i < fd_count; i++)
		fds[i] = STDIN_FILENO;
	if (fd_count > 0) {
		struct cmsghdr *cmsg = &control.align;

		header.msg_control = &control;
		header.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	assert_int_equal(sendmsg(socket, &header, 0), length);
}

TEST_WITH(bytes_and_descriptors_arrive_together, open_pair, close_pair)
{
	int *sockets = *state, pipes[2];
	struct stat sent, arrived;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(frame_send(sockets[0], "hello", 5, pipes, 2, 0), 0);
	assert_int_equal(frame_receive(sockets[1], &frame, 0), 1);
	assert_int_equal(frame.length, 5);
	assert_memory_equal(frame.bytes, "hello", 5);
	assert_int_equal(frame.fd_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(fstat(pipes[i], &sent), 0);
		assert_int_equal(fstat(frame.fds[i], &arrived), 0);
		assert_int_equal(sent.st_ino, arrived.st_ino);
		assert_true(fcntl(frame.fds[i], F_GETFD) & FD_CLOEXEC);
		(void)close(pipes[i]);
	}
	frame_close_fds(&frame);
	assert_int_equal(frame.fd_count, 0);
	frame_close_fds(NULL);
}

TEST_WITH(descriptors_that_were_taken_stay_open, open_pair, close_pair)
{
	int *sockets = *state, zero = STDIN_FILENO, taken;

	assert_int_equal(frame_send(sockets[0], "x", 1, &zero, 1, 0), 0);
	assert_int_equal(frame_receive(sockets[1], &frame, 0), 1);
	taken = steal_fd(&frame.fds[0]);
	frame_close_fds(&frame);
	assert_true(fcntl(taken, F_GETFD) >= 0);
	(void)close(taken);
}

#define WITH_SOCKETS(test) TEST_OF(test, int *sockets, open_pair, close_pair)

WITH_SOCKETS(too_many_descriptors_are_refused_and_closed)
{
	unsigned before = count_fds();

	send_raw(sockets[0], 10, 253);
	assert_int_equal(frame_receive(sockets[1], &frame, 0), -EMSGSIZE);
	assert_int_equal(frame.fd_count, 0);
	assert_int_equal(count_fds(), before);
	send_raw(sockets[0], 10, MESSAGE_FDS_MAX + 1);
	assert_int_equal(frame_receive(sockets[1], &frame, 0), -EMSGSIZE);
	assert_int_equal(count_fds(), before);
	send_raw(sockets[0], 10, MESSAGE_FDS_MAX);
	assert_int_equal(frame_receive(sockets[1], &frame, 0), 1);
	assert_int_equal(frame.fd_count, MESSAGE_FDS_MAX);
	frame_close_fds(&frame);
	assert_int_equal(count_fds(), before);
}

WITH_SOCKETS(a_packet_that_is_too_large_is_refused_and_the_next_one_is_read)
{
	unsigned before = count_fds();

	send_raw(sockets[0], MESSAGE_PACKET_MAX + 1, 2);
	assert_int_equal(frame_receive(sockets[1], &frame, 0), -EMSGSIZE);
	assert_int_equal(count_fds(), before);
	send_raw(sockets[0], MESSAGE_PACKET_MAX, 0);
	assert_int_equal(frame_receive(sockets[1], &frame, 0), 1);
	assert_int_equal(frame.length, MESSAGE_PACKET_MAX);
	assert_int_equal(frame_send(sockets[0], large, MESSAGE_PACKET_MAX, NULL, 0, 0), 0);
	assert_int_equal(frame_receive(sockets[1], &frame, 0), 1);
	assert_int_equal(frame.length, MESSAGE_PACKET_MAX);
	assert_int_equal(frame_send(sockets[0], large, MESSAGE_PACKET_MAX + 1, NULL, 0, 0),
	                 -EMSGSIZE);
	assert_int_equal(frame_send(sockets[0], large, 1, frame.fds, MESSAGE_FDS_MAX + 1, 0),
	                 -EMSGSIZE);
}

WITH_SOCKETS(an_empty_packet_is_the_end_and_its_descriptors_are_closed)
{
	unsigned before = count_fds();

	send_raw(sockets[0], 0, 3);
	assert_int_equal(frame_receive(sockets[1], &frame, 0), 0);
	assert_int_equal(count_fds(), before);
}

WITH_SOCKETS(nothing_to_read_and_nobody_to_write_to_are_told_apart)
{
	assert_int_equal(frame_receive(sockets[1], &frame, MSG_DONTWAIT), -EAGAIN);
	sockets[0] = fd_close(sockets[0]);
	assert_int_equal(frame_receive(sockets[1], &frame, MSG_DONTWAIT), 0);
	assert_int_equal(frame_send(sockets[1], "x", 1, NULL, 0, 0),
	                 -EPIPE); /* and no SIGPIPE ends this test */
}

TEST_WITH(a_peer_that_stops_reading_does_not_block, open_pair, close_pair)
{
	int *sockets = *state, r = 0;

	for (unsigned i = 0; i < 10000 && r == 0; i++)
		r = frame_send(sockets[0], large, 1000, NULL, 0, MSG_DONTWAIT);
	assert_int_equal(r, -EAGAIN);
}

static void receive_message(int socket, uint32_t kind, uint64_t sequence)
{
	struct envelope envelope;
	struct yett_error error;

	assert_int_equal(frame_receive(socket, &frame, 0), 1);
	assert_int_equal(
		envelope_read(frame.bytes, frame.length, frame.fd_count, &envelope, &error), 0);
	assert_int_equal(envelope.kind, kind);
	assert_int_equal(envelope.sequence, sequence);
	assert_int_equal(message_decode(kind, frame.bytes + ENVELOPE_HEADER_SIZE,
	                                envelope.body_length, &message, &error),
	                 0);
}

TEST_WITH(a_message_travels_behind_its_envelope, open_pair, close_pair)
{
	int *sockets = *state, zero = STDIN_FILENO;

	memset(&message, 0, sizeof message);
	message.kind = MESSAGE_STARTED;
	message.body.started = (struct message_started){1, 7};
	assert_int_equal(frame_send_message(sockets[0], &message, 42, &zero, 1, 0), 0);
	receive_message(sockets[1], MESSAGE_STARTED, 42);
	assert_int_equal(message.body.started.pid, 7);
	assert_int_equal(frame.fd_count, 1);
	frame_close_fds(&frame);
}

WITH_SOCKETS(a_long_message_travels_too)
{
	memset(&message, 0, sizeof message);
	memset(large, 'a', 60000);
	large[60000] = '\0';
	message.kind = MESSAGE_EXEC;
	message.body.exec.argv_count = 1;
	assert_int_equal(message_add_text(&message, (char *)large, &message.body.exec.argv[0]), 0);
	assert_int_equal(frame_send_message(sockets[0], &message, 1, NULL, 0, 0), 0);
	receive_message(sockets[1], MESSAGE_EXEC, 1);
	assert_string_equal(message_text(&message, message.body.exec.argv[0]), (char *)large);
}

WITH_SOCKETS(a_message_out_of_its_bounds_or_unsigned_is_not_sent)
{
	memset(&message, 0, sizeof message);
	message.kind = MESSAGE_STARTED;
	assert_int_equal(frame_send_message(sockets[0], &message, 1, NULL, 0, 0), -EMSGSIZE);
	message.kind = MESSAGE_CREATE;
	assert_int_equal(frame_send_message(sockets[0], &message, 1, NULL, 0, 0), -EINVAL);
	assert_int_equal(frame_receive(sockets[1], &frame, MSG_DONTWAIT), -EAGAIN);
}

WITH_SOCKETS(an_error_is_sent_with_everything_it_says)
{
	struct yett_error error;

	(void)error_set(&error, YETT_E_TIMEOUT, YETT_R_SIZE, "too late");
	error_detail(&error, "by %d ms", 3);
	assert_int_equal(frame_send_error(sockets[0], &error, 9, 0), 0);
	receive_message(sockets[1], MESSAGE_ERROR, 9);
	assert_int_equal(message.body.error.code, YETT_E_TIMEOUT);
	assert_int_equal(message.body.error.reason, YETT_R_SIZE);
	assert_true(message.body.error.retryable);
	assert_string_equal(message_text(&message, message.body.error.message), "too late");
	assert_string_equal(message_text(&message, message.body.error.detail), "by 3 ms");
}

WITH_SOCKETS(an_error_whose_text_is_no_utf8_is_sent_all_the_same)
{
	struct yett_error error = {.code = YETT_E_INVALID_REQUEST};

	memset(error.message, 'm', sizeof error.message);      /* no NUL at all */
	memcpy(error.detail, "caf\xc3\xa9 \xff \xe2\x82", 10); /* cut within a character */
	assert_int_equal(frame_send_error(sockets[0], &error, 0, 0), 0);
	receive_message(sockets[1], MESSAGE_ERROR, 0);
	assert_int_equal(message.body.error.message.length, sizeof error.message - 1);
	assert_string_equal(message_text(&message, message.body.error.detail), "caf\xc3\xa9 ? ??");
}

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76 /* asm-generic/socket.h; Linux 6.5 */
#endif

TEST_WITH(a_descriptor_that_nobody_sent_is_closed, open_pair, close_pair)
{
	int *sockets = *state, on = 1;
	unsigned before = count_fds();

	if (setsockopt(sockets[1], SOL_SOCKET, SO_PASSPIDFD, &on, sizeof on) < 0)
		skip(); /* the kernel has none to send */
	for (int i = 0; i < 3; i++) {
		send_raw(sockets[0], 5, 1);
		assert_int_equal(frame_receive(sockets[1], &frame, 0), 1);
		assert_int_equal(frame.fd_count, 1);
		frame_close_fds(&frame);
		assert_int_equal(count_fds(), before);
	}
}
/* What lies behind an empty packet is not closed either. */
WITH_SOCKETS(a_socket_is_closed_unless_descriptors_are_queued_in_it)
{
	assert_int_equal(send(sockets[0], "", 0, 0), 0);
	assert_int_equal(frame_send(sockets[0], "x", 1, (const int[]){STDIN_FILENO}, 1, 0), 0);
	assert_false(frame_peek_fds(sockets[1]));
	assert_false(frame_close_socket(sockets[1]));
	assert_int_not_equal(fcntl(sockets[1], F_GETFD), -1);
	close(sockets[0]);
	close(sockets[1]);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_int_equal(send(sockets[0], "", 0, 0), 0);
	assert_int_equal(send(sockets[0], "y", 1, 0), 1);
	assert_true(frame_close_socket(sockets[1]));
	assert_true(frame_close_socket(-1));
	assert_int_equal(fcntl(sockets[1], F_GETFD), -1);
	sockets[1] = -1;
}

TEST_MAIN(NULL, NULL)
