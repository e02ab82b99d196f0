/* SPDX-License-Identifier: Apache-2.0 */
/* What is asked of an HTTP proxy, and what is made of each answer: not a byte of what comes after
 * its header is taken. */
#include "programs/net/tunnel.h"
#include "tests/support/testing.h"

#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define REST "\r\n\r\nHTTP/1.1 500 of the server"

struct ends {
	int ours, proxy;
};

static struct ends connected(void)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	return (struct ends){fds[0], fds[1]};
}

static void leave(struct ends *ends)
{
	fd_close(ends->ours);
	fd_close(ends->proxy);
}

static void say(const struct ends *ends, const char *text, size_t length)
{
	assert_int_equal(send(ends->proxy, text, length, 0), (ssize_t)length);
}

static void asks(const char *name, const char *address, uint16_t port, const char *wanted)
{
	struct ends ends = connected();
	struct tunnel tunnel = {0};
	struct net_address to = {0};
	char got[1024] = {0};

	if (address)
		assert_int_equal(net_address_parse(address, &to), 0);
	assert_int_equal(tunnel_ask(&tunnel, ends.ours, name, &to, port), 0);
	assert_int_equal(recv(ends.proxy, got, sizeof got - 1, 0), (ssize_t)strlen(wanted));
	assert_string_equal(got, wanted);
	assert_int_equal(tunnel.asked, strlen(wanted));
	leave(&ends);
}

TEST(names_and_addresses_are_asked_for)
{
	char longest[NET_NAME_SIZE], request[1024];

	asks("pypi.org", NULL, 443, "CONNECT pypi.org:443 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n");
	asks("", "93.184.216.34", 1,
	     "CONNECT 93.184.216.34:1 HTTP/1.1\r\nHost: 93.184.216.34:1\r\n\r\n");
	asks("", "2606:4700::34", 65535,
	     "CONNECT [2606:4700::34]:65535 HTTP/1.1\r\nHost: [2606:4700::34]:65535\r\n\r\n");
	memset(longest, 'a', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	(void)snprintf(request, sizeof request,
	               "CONNECT %s:65535 HTTP/1.1\r\nHost: %s:65535\r\n\r\n", longest, longest);
	asks(longest, NULL, 65535, request);
}

static const struct {
	const char *answer;
	int result;
} answers[] = {
	{"HTTP/1.1 200 Connection established\r\n\r\n", 0},
	{"HTTP/1.0 200\r\n\r\n", 0},
	{"HTTP/1.1 204 \r\nVia: 1.1 x\r\nContent-Length: 7\r\n\r\n", 0},
	{"HTTP/1.1 200 OK\n\n", 0},
	{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
         0},
	{"HTTP/1.1 403 Forbidden\r\n\r\n", 403},
	{"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n", 407},
	{"HTTP/1.1 302 Found\r\nLocation: http://login.example/\r\n\r\n", 302},
	{"HTTP/1.1 502\r\n\r\n", 502},
	{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 No\r\n\r\n", 503},
	{"HTTP/1.1 600 What\r\n\r\n", -EPROTO},
	{"HTTP/1.1 2000 What\r\n\r\n", -EPROTO},
	{"HTTP/1.1 20\r\n\r\n", -EPROTO},
	{"HTTP/2 200 OK\r\n\r\n", -EPROTO},
	{"\r\n\r\n", -EPROTO},
	{"SSH-2.0-OpenSSH_9.2\r\n\r\n", -EPROTO},
	{"HTTP/1.1 100 A\r\n\r\nHTTP/1.1\r\n\r\n", -EPROTO},
};

/* Whole, then byte by byte: what follows the header is still to be read, all of it. */
TEST(an_answer_is_read_to_its_end_and_no_further)
{
	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		for (int in_pieces = 0; in_pieces < 2; in_pieces++) {
			struct ends ends = connected();
			struct tunnel tunnel = {0};
			size_t length = strlen(answers[i].answer);
			char text[1024], rest[sizeof REST] = {0};
			int r = -EAGAIN;

			(void)snprintf(text, sizeof text, "%s" REST, answers[i].answer);
			for (size_t at = 0; in_pieces && at < length && r == -EAGAIN; at++) {
				say(&ends, text + at, 1);
				r = tunnel_hear(&tunnel, ends.ours);
				if (at + 1 < length && answers[i].result >= 0)
					assert_int_equal(r, -EAGAIN);
			}
			if (!in_pieces) {
				say(&ends, text, strlen(text));
				r = tunnel_hear(&tunnel, ends.ours);
			} else {
				say(&ends, REST, strlen(REST));
			}
			if (r != answers[i].result)
				fail_msg("%s: %d", answers[i].answer, r);
			if (r == 0) {
				assert_int_equal(tunnel.answered, length);
				assert_int_equal(recv(ends.ours, rest, sizeof rest, 0),
				                 strlen(REST));
				assert_string_equal(rest, REST);
			}
			leave(&ends);
		}
}

TEST(one_that_ends_or_does_not_end_is_none)
{
	static const char begin[] = "HTTP/1.1 200 OK\r\nX: ";
	static char much[2 * TUNNEL_HEADER_MAX];
	struct ends ends = connected();
	struct tunnel tunnel = {0};

	say(&ends, begin, strlen(begin));
	assert_int_equal(tunnel_hear(&tunnel, ends.ours), -EAGAIN);
	assert_int_equal(shutdown(ends.proxy, SHUT_WR), 0);
	assert_int_equal(tunnel_hear(&tunnel, ends.ours), -ECONNRESET);
	leave(&ends);

	ends = connected();
	tunnel = (struct tunnel){0};
	memset(much, 'x', sizeof much);
	memcpy(much, begin, strlen(begin));
	say(&ends, much, sizeof much);
	assert_int_equal(tunnel_hear(&tunnel, ends.ours), -EMSGSIZE);
	leave(&ends);
}

TEST_MAIN(NULL, NULL)
