/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that misbehaves as a peer: it does not read, does not go on, dies, or comes a thousand
 * times. See test_client.c.
 */
#include <string.h>

#include "base/clock.h"
#include "tests/hostile/client.h"
#include "tests/support/testing.h"
#include "tests/support/waiting.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

/* --- clients that misbehave as peers --- */

TEST(a_client_that_never_reads_is_given_up_on)
{
	struct wire deaf = wire_connect();
	int r = 0;

	/* each is refused; when the answers fill the socket, the helper hangs up rather than wait
	 */
	wire_prepare_good(&deaf);
	wire_packet.length--;
	for (int i = 0; r == 0 && i < 1000000; i++)
		r = wire_try_send(&deaf, 0);
	assert_true(r == -EPIPE || r == -ECONNRESET);
	wire_expect_serving();
	wire_close(&deaf);
}

TEST(a_client_that_stops_half_way_holds_up_nobody)
{
	struct wire silent[5], half[5], holding[5]; /* a user has so many that were granted nothing:
	                                               UNPROVEN_PER_USER_MAX in listener.c */
	int channels[5];

	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		silent[i] = wire_connect();
		half[i] = wire_connect();
		wire_prepare_good(&half[i]);
		wire_packet.length /= 2;
		wire_send(&half[i]);
		holding[i] = wire_connect();
		wire_prepare_good(&holding[i]);
		wire_send(&holding[i]);
		channels[i] = wire_expect_created(&holding[i]);
	}
	wire_expect_serving();
	for (size_t i = 0; i < ARRAY_SIZE(silent); i++) {
		wire_expect_error(&half[i], 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
		half[i].sequence = 0;
		wire_expect_serving_here(&half[i]);
		wire_expect_serving_here(&silent[i]);
		wire_finish(&holding[i], channels[i]);
		wire_close(&silent[i]);
		wire_close(&half[i]);
		wire_close(&holding[i]);
	}
}

static void allow_many_descriptors(void)
{
	struct rlimit limit;

	assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), errno);
	limit.rlim_cur = limit.rlim_max;
	assert_return_code(setrlimit(RLIMIT_NOFILE, &limit), errno);
	assert_true(limit.rlim_cur >= 1200);
}

TEST(a_thousand_connections_at_once_harm_nobody)
{
	static struct wire wires[1000];
	struct wire before = wire_connect();
	const uint64_t began_ms = clock_now_ms();
	size_t served = 0, refused = 0, seconds;

	wire_expect_serving_here(&before);
	allow_many_descriptors();
	for (size_t i = 0; i < ARRAY_SIZE(wires); i++) {
		int r = wire_try_connect(&wires[served]);

		if (r == 0) {
			served++;
			continue;
		}
		assert_int_equal(r, -ECONNREFUSED); /* an error came instead of the hello */
		assert_int_equal(wire_message.body.error.code, YETT_E_RESOURCE_LIMIT);
		assert_int_equal(wire_message.body.error.reason, YETT_R_LATER);
		wire_expect_text("too many connections");
		refused++;
	}
	print_message("# %zu of 1000 connections served, %zu refused\n", served, refused);
	seconds = (clock_now_ms() - began_ms) / 1000;
	/* Sixteen, and those that are a second old give way to as many new ones. (admission.c) */
	assert_in_range(served, 1, 16 * (1 + seconds) + 1);
	wire_expect_serving_here(&before);
	for (size_t i = 0; i < served; i++)
		wire_close(&wires[i]);
	wire_expect_serving_here(&before);
	wire_close(&before);
}

/* As many connections as one user may have, and `max` if that is less. Each has been granted
 * something, and so may stay. */
static size_t take_all_connections(struct wire *wires, size_t max)
{
	size_t served = 0;

	for (int r = 0; served < max;) {
		r = wire_try_connect(&wires[served]);
		if (r == 0)
			wire_expect_serving_here(&wires[served++]);
		else if (wire_message.body.error.reason != YETT_R_LATER)
			break;
	}
	return served;
}

static void close_all(struct wire *wires, size_t count)
{
	for (size_t i = 0; i < count; i++)
		wire_close(&wires[i]);
}

TEST(a_user_has_no_more_than_256_connections)
{
	static struct wire wires[300];
	size_t served = take_all_connections(wires, ARRAY_SIZE(wires));

	assert_int_equal(wire_message.body.error.code, YETT_E_RESOURCE_LIMIT);
	wire_expect_text("this user has as many connections as one may have");
	assert_in_range(served, 200, 256);
	wire_expect_serving_here(&wires[0]);
	close_all(wires, served);
	wire_expect_serving();
}

/* --- what is sent, and whoever closes it --- */

/*
 * Forks; the child has a TCP connection whose close(2) waits for an hour, since nobody reads at its
 * other end, which we have. What it sends lives on in whoever it was sent to: a process that ends
 * does not wait for what it closes. socket(7), SO_LINGER
 */
static bool is_child_with_what_lingers(int *ret_fd, int *ret_peer)
{
	static const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
	struct sockaddr_in address = {.sin_family = AF_INET,
	                              .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof address;
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), fd, small = 4096;
	char bytes[4096] = {0};
	pid_t pid;

	(void)setsockopt(listening, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	assert_return_code(bind(listening, (struct sockaddr *)&address, size), errno);
	assert_return_code(listen(listening, 1), errno);
	assert_return_code(getsockname(listening, (struct sockaddr *)&address, &size), errno);
	pid = fork();
	assert_return_code(pid, errno);
	if (pid == 0) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
		if (connect(fd, (struct sockaddr *)&address, size) < 0)
			_exit(1);
		while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
			;
		if (errno != EAGAIN ||
		    setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger) < 0)
			_exit(1);
		*ret_fd = fd;
		return true;
	}
	*ret_peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	assert_return_code(*ret_peer, errno);
	close(listening);
	return false;
}

static void expect_child_done(void)
{
	int status;

	assert_return_code(wait(&status), errno);
	assert_int_equal(status, 0);
}

/* Whether the other end of `fd` is closed before long. */
static void expect_hang_up(int fd)
{
	struct pollfd wait = {.fd = fd};

	assert_int_equal(poll(&wait, 1, waiting_deadline_ms()), 1);
}

TEST(what_lingers_does_not_keep_a_sandbox_alive)
{
	struct wire wire = wire_connect();
	int lingering, peer, channel;

	wire_prepare_good(&wire);
	wire_send(&wire);
	channel = wire_expect_created(&wire);
	if (is_child_with_what_lingers(&lingering, &peer)) {
		for (int i = 0; i < 2;
		     i++) { /* one that is looked at, and one that is still queued when we go */
			wire_prepare_good(&wire);
			wire_packet.length--;
			wire_set_fds(lingering, 1);
			if (wire_try_send(&wire, 0) < 0)
				_exit(1);
		}
		_exit(0);
	}
	expect_child_done();
	wire_close(&wire);
	expect_hang_up(channel);
	close(channel);
	close(peer);
}

TEST(what_lingers_does_not_hold_up_the_connection)
{
	struct wire wire = wire_connect();
	int lingering, peer;

	(void)wire_create("default");
	wire_add_share("/data", 0, SHARE_RO);
	wire_encode(&wire);
	if (is_child_with_what_lingers(&lingering, &peer)) {
		wire_set_fds(lingering, 1);
		wire_seal(&wire);
		_exit(wire_try_send(&wire, 0) < 0);
	}
	wire_set_fds(-1, 1); /* as the child did, so that what we send next is counted on */
	wire_seal(&wire);
	expect_child_done();
	wire_expect_error(&wire, 1, YETT_E_INVALID_REQUEST, YETT_R_NONE);
	wire_expect_serving_here(&wire);
	wire_close(&wire);
	close(peer);
}

/* Of connections that are turned away somebody else closes what they brought, too. */
TEST(what_lingers_does_not_hold_up_who_turns_away)
{
	static struct wire held[300], wires[60];
	int lingering, peers[ARRAY_SIZE(wires)];
	size_t turned_away = 0, served = take_all_connections(held, ARRAY_SIZE(held));

	for (size_t i = 0; i < ARRAY_SIZE(wires); i++) {
		struct sockaddr_un address = {.sun_family = AF_UNIX};

		(void)snprintf(address.sun_path, sizeof address.sun_path, "%s",
		               getenv("YETT_SOCKET"));
		wires[i] =
			(struct wire){.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
		assert_return_code(
			connect(wires[i].socket, (struct sockaddr *)&address, sizeof address),
			errno);
		wire_packet.length = i % 2; /* an empty packet brings its descriptors, too */
		if (is_child_with_what_lingers(&lingering, &peers[i])) {
			wire_set_fds(lingering, 1);
			(void)wire_try_send(&wires[i],
			                    0); /* it may have been turned away already */
			_exit(0);
		}
		expect_child_done();
	}
	for (size_t i = 0; i < ARRAY_SIZE(wires); i++) {
		turned_away += wire_receive(&wires[i], &(uint64_t){0}, NULL) !=
		               MESSAGE_HELLO; /* the error, or that it was closed unread */
		wire_close(&wires[i]);
	}
	print_message("# %zu turned away\n", turned_away);
	assert_int_equal(turned_away, ARRAY_SIZE(wires));
	wire_expect_serving_here(&held[0]);
	close_all(held, served);
	wire_expect_serving();
	for (size_t i = 0; i < ARRAY_SIZE(wires); i++)
		close(peers[i]);
}

/* So many requests in flight on one connection, none of them waited for. */
TEST(a_client_that_does_not_wait_is_served_in_full)
{
	enum { REQUESTS = 20 };
	struct wire wire = wire_connect();
	int channels[REQUESTS];
	unsigned created = 0, ended = 0;

	for (int i = 0; i < REQUESTS; i++) {
		wire_prepare_good(&wire);
		wire_send(&wire);
	}
	while (created < REQUESTS) {
		uint64_t sequence;

		assert_int_equal(wire_receive(&wire, &sequence, &channels[created]),
		                 MESSAGE_CREATED);
		created++;
	}
	for (int i = 0; i < REQUESTS; i++)
		close(channels[i]);
	for (; ended < REQUESTS; ended++) {
		uint64_t sequence;

		assert_int_equal(wire_receive(&wire, &sequence, NULL), MESSAGE_ENDED);
	}
	wire_close(&wire);
}

enum dying {
	DIE_CONNECTED,
	DIE_GREETED,
	DIE_HALF,
	DIE_REFUSED,
	DIE_REQUESTED,
	DIE_CREATED,
	DIE_CHANNEL,
	DIE_AGAIN,
	DIE_POINTS
};

static void __attribute__((noreturn)) die_at(enum dying point)
{
	struct wire wire = {.socket = -1};
	int home = wire_open_directory(".");

	if (point >= DIE_GREETED) {
		wire = wire_connect();
	} else {
		struct sockaddr_storage unused;
		socklen_t size = sizeof unused;

		/* the hello is not waited for */
		wire = wire_connect();
		(void)getpeername(wire.socket, (struct sockaddr *)&unused, &size);
	}
	if (point >= DIE_HALF) {
		(void)wire_create("default");
		wire_add_share("/data", 0, SHARE_RW);
		wire_encode(&wire);
		wire_set_fds(home, 1);
		wire_seal(&wire);
		wire_packet.length -= point < DIE_REQUESTED;
		wire_send(&wire);
	}
	if (point == DIE_REFUSED)
		wire_expect_error(&wire, 0, YETT_E_PROTOCOL, YETT_R_TRUNCATED);
	if (point >= DIE_CREATED) {
		int channel = wire_expect_created(&wire);

		if (point >= DIE_CHANNEL)
			(void)close(channel);
	}
	if (point == DIE_AGAIN) {
		wire_prepare_good(&wire);
		wire_send(&wire);
	}
	(void)kill(getpid(), SIGKILL);
	_exit(1);
}

TEST(a_client_may_die_at_any_point)
{
	for (int round = 0; round < 10; round++)
		for (enum dying point = 0; point < DIE_POINTS; point++) {
			pid_t child = fork();
			int status;

			assert_return_code(child, errno);
			if (child == 0)
				die_at(point);
			assert_int_equal(waitpid(child, &status, 0), child);
			assert_true(WIFSIGNALED(status));
		}
	wire_expect_serving();
}

const struct CMUnitTest *client_peers(size_t *ret_count)
{
	*ret_count = testing_count;
	return testing_tests;
}
