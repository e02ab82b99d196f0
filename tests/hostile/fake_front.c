/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-front that a sandbox has captured: the real one up to where it has locked itself down, and
 * then an attack (captured.h).
 *
 * What came of it, whoever connects to anything in the sandbox is told as a line of text.
 */
#include "tests/hostile/captured.h"

int honest_main(int argc, char **argv);
#define lockdown_filter captured_filter
#define main            honest_main
#include "programs/net/proxy.c" /* NOLINT: with what it keeps to itself */
#undef main
#undef lockdown_filter

#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>

#define FLOOD 100000
/* what a rule of the test allows, and where a server resets connections */
#define PEER      "93.184.216.34"
#define PEER_PORT 8099

static void set_blocking(int fd)
{
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
}

/* To everybody who connects from now on. */
_Noreturn static void report(const char *format, ...)
{
	char text[400];
	va_list arguments;
	int n;

	va_start(arguments, format);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	n = vsnprintf(text, sizeof text, format, arguments);
#pragma GCC diagnostic pop
	va_end(arguments);
	set_blocking(PROXY_FD_TCP4);
	for (;;) {
		int socket = accept4(PROXY_FD_TCP4, NULL, NULL, SOCK_CLOEXEC);

		(void)send(socket, text, (size_t)n, MSG_NOSIGNAL);
		(void)shutdown(socket, SHUT_WR);
		(void)close(socket);
	}
}

static struct net_address mapped(const char *text)
{
	struct net_address address = {{0}};

	if (net_address_parse(text, &address) < 0)
		_exit(1);
	return address;
}

static struct egress_ask ask_of(uint32_t id, const char *name, const char *address, unsigned port)
{
	struct egress_ask ask = {.kind = EGRESS_ASK_CONNECT, .id = id, .port = (uint16_t)port};

	if (*name)
		memcpy(ask.name, name, strlen(name) + 1);
	else
		ask.address = mapped(address);
	return ask;
}

/* The next answer; its descriptor, if it has one, or minus its error. */
static int hear(void)
{
	static struct frame frame;
	struct egress_answer answer;

	if (frame_receive(PROXY_FD_CONNECTOR, &frame, 0) <= 0 || frame.length != sizeof answer)
		report("the dialer has ended\n");
	memcpy(&answer, frame.bytes, sizeof answer);
	return answer.error == 0 && frame.fd_count == 1 ? steal_fd(&frame.fds[0]) : -answer.error;
}

static int ask_and_hear(const char *name, const char *address, unsigned port)
{
	static uint32_t id;
	struct egress_ask ask = ask_of(++id, name, address, port);

	if (frame_send(PROXY_FD_CONNECTOR, &ask, sizeof ask, NULL, 0, 0) < 0)
		report("the dialer has ended\n");
	return hear();
}

/* What is not allowed, by whatever form. The last is allowed, and so shows that the others could
 * have been. */
SCRIPT(asks_for_what_is_denied)
{
	static const char *const names[] = {"other.example",    "hostile-x.example",
	                                    "localhost",        "host.example",
	                                    "metadata.example", "www.good.example"};
	static const char *const addresses[] = {"127.0.0.1",       "10.83.0.1",
	                                        "10.83.0.2",       "169.254.169.254",
	                                        "151.101.1.10",    "::1",
	                                        "fd83::1",         "64:ff9b::7f00:1",
	                                        "2002:7f00:1::",   "64:ff9b:1::7f00:1",
	                                        "0.0.0.0",         "::",
	                                        "255.255.255.255", "224.0.0.1",
	                                        "ff02::1",         "fe80::1",
	                                        "::127.0.0.1",     "198.18.0.1"};
	unsigned given = 0;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		given += ask_and_hear(names[i], "", captured.number) >= 0;
	for (size_t i = 0; i < ARRAY_SIZE(addresses); i++)
		given += ask_and_hear("", addresses[i], captured.number) >= 0;
	report("given %u, and then %s\n", given,
	       ask_and_hear("good.example", "", 8080) >= 0 ? "given" : "refused");
}

/* As many as the dialer takes; it waits while its answers are not read. */
SCRIPT(asks_for_much)
{
	unsigned given = 0, refused = 0;

	for (unsigned i = 0; i < FLOOD; i++)
		if (ask_and_hear("", "151.101.1.10", 1 + i % 60000) >= 0)
			given++;
		else
			refused++;
	report("given %u, refused %u\n", given, refused);
}

/* Connections beyond what there may be: all are kept. */
SCRIPT(holds_much)
{
	unsigned given = 0;

	for (unsigned i = 0; i < 1000; i++)
		given += ask_and_hear("good.example", "", 8080) >= 0;
	report("given %u\n", given);
}

/* Names that no rule allows, each another one, which is told of. */
SCRIPT(tells_much)
{
	for (unsigned i = 0; i < FLOOD; i++) {
		struct egress_ask ask = {.kind = EGRESS_ASK_UNKNOWN, .id = i};

		(void)snprintf(ask.name, sizeof ask.name, "n%u.tunnel.example", i);
		(void)!frame_send(PROXY_FD_CONNECTOR, &ask, sizeof ask, NULL, 0, 0);
	}
	report("told, and then %s\n",
	       ask_and_hear("good.example", "", 8080) >= 0 ? "given" : "refused");
}

static void send_packet(const void *bytes, size_t size, const int *fds, size_t count)
{
	(void)!frame_send(PROXY_FD_CONNECTOR, bytes, size, fds, count, 0);
}

/* Sends this request, after an invalid packet or instead of one. The connector ends, and is started
 * once more, with a proxy that does the same. */
_Noreturn static void confuse(struct egress_ask ask)
{
	send_packet(&ask, sizeof ask, NULL, 0);
	while (hear() != 0)
		;
	report("the dialer goes on\n");
}

static struct egress_ask plain_ask(void)
{
	return ask_of(1, "", "151.101.1.10", 80);
}

static const uint8_t garbage[sizeof(struct egress_ask) + 1] = {0xff, 0xff};

SCRIPT_DO(sends_garbage, send_packet(garbage, sizeof garbage, NULL, 0), confuse(plain_ask()))
SCRIPT_DO(sends_nothing, send_packet(garbage, 0, NULL, 0), confuse(plain_ask()))
SCRIPT_DO(sends_port_0, confuse(ask_of(1, "", "151.101.1.10", 0)))
SCRIPT_DO(sends_other_case, confuse(ask_of(1, "GOOD.example", "", 8080)))

SCRIPT(sends_descriptor)
{
	const struct egress_ask ask = plain_ask();

	send_packet(&ask, sizeof ask, (const int[]){PROXY_FD_TCP4}, 1);
	confuse(ask);
}

SCRIPT(sends_no_name)
{
	struct egress_ask ask = plain_ask();

	memset(ask.name, 'a', sizeof ask.name);
	confuse(ask);
}

/* The name is still looked up when the second request comes. */
SCRIPT(sends_twice)
{
	const struct egress_ask ask = ask_of(1, "good.example", "", 8080);

	send_packet(&ask, sizeof ask, NULL, 0);
	confuse(ask);
}

/* Never reads what it is answered. */
SCRIPT(hoards)
{
	for (uint32_t id = 1;; id++) {
		struct egress_ask ask = ask_of(id, "good.example", "", 8080);

		if (frame_send(PROXY_FD_CONNECTOR, &ask, sizeof ask, NULL, 0, MSG_DONTWAIT) < 0)
			report("waits\n");
	}
}

static ssize_t connect_by_sending(int fd, const struct sockaddr_in *to)
{
	return sendto(fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_FASTOPEN | MSG_NOSIGNAL,
	              (const struct sockaddr *)to, sizeof *to);
}

/*
 * A socket of the host's network that was connected where that is allowed, and has been reset by
 * its peer, or has given that up (alone), is connected anew by sending (MSG_FASTOPEN, tcp(7)) to
 * the host itself.
 */
_Noreturn static void connect_anew(bool alone)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
	                         .sin_port = htons((uint16_t)captured.number),
	                         .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = ask_and_hear("", PEER, PEER_PORT), first, second;
	const int timeout_ms = 1;
	char text[200] = "";

	if (fd < 0)
		report("refused\n");
	set_blocking(fd);
	if (alone) {
		(void)setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", sizeof "lo");
		(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
	}
	(void)send(fd, "x", 1, MSG_NOSIGNAL);
	while (recv(fd, text, sizeof text, 0) > 0)
		;
	first = connect_by_sending(fd, &to) < 0 ? errno : 0;
	second = connect_by_sending(fd, &to) < 0 ? errno : 0;
	memset(text, 0, sizeof text);
	(void)!recv(fd, text, sizeof text - 1, 0);
	report("%d, %d, heard '%s'\n", first, second, text);
}

SCRIPT_DO(connects_anew, connect_anew(false))
SCRIPT_DO(connects_anew_alone, connect_anew(true))

int main(int argc, char **argv)
{
	static struct proxy proxy;
	const struct script *script;

	captured = captured_find(PROXY_FD_CONNECTOR);
	if (!*captured.wish.mode)
		return honest_main(argc, argv);
	proxy_lock_down(argc, argv, &proxy);
	await_rules(&proxy);
	if (captured_call(&captured))
		report("survived\n");
	script = script_find(captured.wish.mode);
	_exit(script ? script->run() : 2);
}
