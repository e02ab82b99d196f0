/* SPDX-License-Identifier: Apache-2.0 */
/* Ports of a sandbox, and what is relayed, with an init and a helper that the test plays: what init
 * sends is used as what it is, or not. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "libclient/pair.h"
#include "libclient/relay.h"
#include "tests/support/testing.h"
#include "tests/unit/client_peer.h"

#ifndef SO_PASSPIDFD
#define SO_PASSPIDFD 76
#endif

static int tcp(int domain, int protocol)
{
	int fd = socket(domain, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);

	assert_true(fd >= 0);
	return fd;
}

/* One that listens at a port of loopback that the kernel chooses. */
static int listening(uint16_t *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t size = sizeof address;
	int fd = tcp(AF_INET, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return fd;
}

static int connected_to(uint16_t port)
{
	const struct sockaddr_in address = {.sin_family = AF_INET,
	                                    .sin_port = htons(port),
	                                    .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = tcp(AF_INET, 0);

	assert_true(connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ||
	            errno == EINPROGRESS);
	return fd;
}

static void say_connected(struct peer *p, uint64_t sequence, int fd)
{
	(void)prepare(p, MESSAGE_CONNECTED);
	say(p, p->init, sequence, &fd, 1);
	(void)close(fd);
}

#define WITH_PEER(test) TEST_OF(test, struct peer *p, peer_make, peer_free)

WITH_PEER(a_port_is_connected_to)
{
	uint16_t port;
	int listener = listening(&port), fd = -1;

	peer_create(p);
	say_connected(p, p->sandbox->channel->sequence + 1, connected_to(port));
	assert_int_equal(yett_socket_connect(p->sandbox, 80, &fd, &p->error), 0);
	hear(p, p->init);
	assert_int_equal(p->message.kind, MESSAGE_CONNECT);
	assert_int_equal(p->message.body.connect.port, 80);
	assert_int_equal(p->message.body.connect.family, CONNECT_V4);
	assert_int_equal(send(fd, "x", 1, MSG_DONTWAIT), 1);
	(void)close(fd);
	(void)close(listener);
}

WITH_PEER(where_nobody_listens_the_other_loopback_is_tried)
{
	uint16_t port;
	int listener = listening(&port), fd = -1;

	peer_create(p);
	(void)close(listener);
	say_connected(p, p->sandbox->channel->sequence + 1, connected_to(port));
	say_error(p, p->init, p->sandbox->channel->sequence + 2, YETT_E_COMMAND_FAILED, "");
	assert_int_equal(yett_socket_connect(p->sandbox, port, &fd, &p->error),
	                 YETT_E_COMMAND_FAILED);
	assert_non_null(strstr(p->error.message, "nobody inside answers at port"));
	hear(p, p->init);
	hear(p, p->init);
	assert_int_equal(p->message.body.connect.family, CONNECT_V6);
	assert_int_equal(fd, -1);
}

/* What a captured init could send in the place of a connection. */
static int strange(int i)
{
	uint16_t port;
	int pair[2];

	switch (i) {
	case 0:
		return open("/dev/zero", O_RDONLY | O_CLOEXEC);
	case 1:
		return memfd_create("strange", MFD_CLOEXEC);
	case 2:
		assert_int_equal(pipe2(pair, O_CLOEXEC), 0);
		(void)close(pair[0]);
		return pair[1];
	case 3:
		return listening(&port);
	case 4:
		return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	case 5:
		return tcp(AF_UNIX, 0);
	case 6:
		return tcp(AF_INET6, 0);
	case 7:
		return epoll_create1(EPOLL_CLOEXEC);
	default:
		return -1;
	}
}

WITH_PEER(what_is_no_connection_is_refused)
{
	int fd = -1, i = 0;

	peer_create(p);
	for (int sent; (sent = strange(i)) >= 0; i++) {
		say_connected(p, p->sandbox->channel->sequence + 1, sent);
		assert_int_equal(yett_socket_connect(p->sandbox, 80, &fd, &p->error),
		                 YETT_E_SECURITY_VIOLATION);
	}
	assert_int_equal(i, 8);
	assert_int_equal(fd, -1);
}

WITH_PEER(an_answer_without_a_descriptor_is_a_violation)
{
	int fd = -1;

	peer_create(p);
	(void)prepare(p, MESSAGE_CONNECTED);
	say(p, p->init, p->sandbox->channel->sequence + 1, NULL, 0);
	assert_int_equal(yett_socket_connect(p->sandbox, 80, &fd, &p->error), YETT_E_PROTOCOL);
}

WITH_PEER(what_cannot_be_published_is_refused_before_anybody_is_asked)
{
	static const struct {
		const char *address;
		uint16_t host_port, port;
		const char *message;
	} cases[] = {{"localhost", 8080, 80, "localhost is not an IPv4 or IPv6 address"},
	             {"127.1", 8080, 80, "127.1 is not an IPv4 or IPv6 address"},
	             {NULL, 80, 80, "port 80 is privileged"},
	             {NULL, 1023, 80, "port 1023 is privileged"},
	             {NULL, 8080, 0, "0 is no port"}};
	struct yett_relay *relay;

	peer_create(p);
	assert_int_equal(yett_relay_new(p->sandbox, &relay, &p->error), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_int_equal(yett_relay_publish(relay, cases[i].address, cases[i].host_port,
		                                    cases[i].port, NULL, &p->error),
		                 YETT_E_INVALID_REQUEST);
		assert_non_null(strstr(p->error.message, cases[i].message));
	}
	yett_relay_close(relay);
}

WITH_PEER(the_helper_is_asked_and_its_refusal_counts)
{
	struct yett_relay *relay;
	uint16_t port = 0;

	peer_create(p);
	assert_int_equal(yett_relay_new(p->sandbox, &relay, &p->error), 0);
	say_error(p, p->helper, 2, YETT_E_PERMISSION_DENIED, "not there");
	assert_int_equal(yett_relay_publish(relay, "::1", 0, 80, &port, &p->error),
	                 YETT_E_PERMISSION_DENIED);
	hear(p, p->helper);
	assert_int_equal(p->message.kind, MESSAGE_RELAY);
	assert_int_equal(p->message.body.relay.port, 0);
	assert_int_equal(p->message.body.relay.address[15], 1);
	(void)prepare(p, MESSAGE_ALLOWED);
	say(p, p->helper, 3, NULL, 0);
	assert_int_equal(yett_relay_publish(relay, NULL, 0, 80, &port, &p->error), 0);
	assert_true(port >= 1024);
	yett_relay_close(relay);
}

/* --- pairs --- */

static uint8_t buffer[PAIR_BUFFER];

struct ends {
	int outer[2]; /* the other ends of both sockets */
	struct pair pair;
};

static struct ends make_ends(void)
{
	struct ends e = {0};

	for (int i = 0; i < 2; i++) {
		int ends[2];

		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends),
			0);
		e.outer[i] = ends[0];
		e.pair.sockets[i] = ends[1];
	}
	return e;
}

static void free_ends(struct ends *e)
{
	pair_end(&e->pair, true);
	(void)close(e->outer[0]);
	(void)close(e->outer[1]);
}

TEST(the_end_of_one_way_leaves_the_other)
{
	struct ends e = make_ends();
	char bytes[8];

	assert_int_equal(send(e.outer[0], "ask", 3, 0), 3);
	assert_int_equal(shutdown(e.outer[0], SHUT_WR), 0);
	assert_int_equal(pair_move(&e.pair, 0, buffer), 0);
	assert_int_equal(recv(e.outer[1], bytes, sizeof bytes, 0), 3);
	assert_int_equal(recv(e.outer[1], bytes, sizeof bytes, 0), 0);
	assert_false(pair_is_done(&e.pair));
	assert_int_equal(pair_wants(&e.pair, 0), 0); /* its end would be told without end */
	assert_int_equal(send(e.outer[1], "answer", 6, 0), 6);
	(void)shutdown(e.outer[1], SHUT_WR);
	assert_int_equal(pair_move(&e.pair, 1, buffer), 0);
	assert_int_equal(recv(e.outer[0], bytes, sizeof bytes, 0), 6);
	assert_true(pair_is_done(&e.pair));
	free_ends(&e);
}

TEST(who_does_not_read_is_not_read_for)
{
	struct ends e = make_ends();
	size_t sent = 0, got = 0;
	ssize_t n;

	for (int i = 0; i < 1000 && !e.pair.lanes[0].held; i++) {
		n = send(e.outer[0], buffer, sizeof buffer, 0);
		sent += n > 0 ? (size_t)n : 0;
		assert_int_equal(pair_move(&e.pair, 0, buffer), 0);
	}
	assert_non_null(e.pair.lanes[0].held);
	assert_true(e.pair.lanes[0].length <= PAIR_BUFFER);
	assert_int_equal(pair_wants(&e.pair, 0), 0);
	assert_int_equal(pair_wants(&e.pair, 1), EPOLLIN | EPOLLOUT);
	(void)shutdown(e.outer[0], SHUT_WR);
	while ((n = recv(e.outer[1], buffer, sizeof buffer, 0)) != 0) {
		got += n > 0 ? (size_t)n : 0;
		assert_int_equal(pair_move(&e.pair, 1, buffer), 0);
		assert_int_equal(pair_move(&e.pair, 0, buffer), 0);
	}
	assert_int_equal(got, sent);
	free_ends(&e);
}

TEST(one_that_takes_no_more_is_heard_to_its_end)
{
	struct ends e = make_ends();
	char bytes[8];

	assert_int_equal(send(e.outer[1], "answer", 6, 0), 6);
	(void)close(e.outer[1]);
	e.outer[1] = -1;
	assert_int_equal(send(e.outer[0], "more", 4, 0), 4);
	assert_int_equal(pair_move(&e.pair, 0, buffer), 0);
	assert_int_equal(e.pair.lanes[0].state, PAIR_LOST);
	assert_int_equal(pair_move(&e.pair, 1, buffer), 0);
	assert_int_equal(recv(e.outer[0], bytes, sizeof bytes, 0), 6);
	assert_true(pair_is_done(&e.pair));
	free_ends(&e);
}

TEST(descriptors_are_not_relayed)
{
	struct ends e = make_ends();
	union {
		struct cmsghdr head;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
	                      .cmsg_level = SOL_SOCKET,
	                      .cmsg_type = SCM_RIGHTS}};
	struct msghdr header = {.msg_iov = &(struct iovec){"x", 1},
	                        .msg_iovlen = 1,
	                        .msg_control = control.bytes,
	                        .msg_controllen = sizeof control.bytes};
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	memcpy(CMSG_DATA(&control.head), &pipes[1], sizeof pipes[1]);
	assert_int_equal(sendmsg(e.outer[0], &header, 0), 1);
	(void)close(pipes[1]);
	assert_int_equal(pair_move(&e.pair, 0, buffer), -EPROTO);
	assert_int_equal(read(pipes[0], buffer, 1),
	                 0); /* waits until nobody has the other end any more */
	(void)close(pipes[0]);
	free_ends(&e);
}

/* Somebody inside who has the socket, too, can have the kernel say who sent it: by a descriptor
 * with each message. */
TEST(descriptors_of_processes_are_not_kept)
{
	struct ends e = make_ends();
	const int on = 1;

	if (setsockopt(e.pair.sockets[0], SOL_SOCKET, SO_PASSPIDFD, &on, sizeof on) < 0)
		skip(); /* before Linux 6.5 */
	assert_int_equal(send(e.outer[0], "x", 1, 0), 1);
	assert_int_equal(pair_move(&e.pair, 0, buffer), -EPROTO);
	free_ends(&e);
}

TEST_MAIN(NULL, NULL)
