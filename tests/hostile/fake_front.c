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
static void ask_for_what_is_denied(void)
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
static void ask_for_much(void)
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
static void hold_much(void)
{
	unsigned given = 0;

	for (unsigned i = 0; i < 1000; i++)
		given += ask_and_hear("good.example", "", 8080) >= 0;
	report("given %u\n", given);
}

/* Names that no rule allows, each another one, which is told of. */
static void tell_much(void)
{
	for (unsigned i = 0; i < FLOOD; i++) {
		struct egress_ask ask = {.kind = EGRESS_ASK_UNKNOWN, .id = i};

		(void)snprintf(ask.name, sizeof ask.name, "n%u.tunnel.example", i);
		(void)!frame_send(PROXY_FD_CONNECTOR, &ask, sizeof ask, NULL, 0, 0);
	}
	report("told, and then %s\n",
	       ask_and_hear("good.example", "", 8080) >= 0 ? "given" : "refused");
}

/* What is no packet: the dialer ends, and is started again once, with a front that does the same.
 */
static void confuse(void)
{
	static const uint8_t garbage[sizeof(struct egress_ask) + 1] = {0xff, 0xff};
	struct egress_ask ask = ask_of(1, "", "151.101.1.10", 80);
	int fd = PROXY_FD_TCP4;

	if (captured_is(&captured, "sends-garbage"))
		(void)!frame_send(PROXY_FD_CONNECTOR, garbage, sizeof garbage, NULL, 0, 0);
	else if (captured_is(&captured, "sends-nothing"))
		(void)!frame_send(PROXY_FD_CONNECTOR, garbage, 0, NULL, 0, 0);
	else if (captured_is(&captured, "sends-descriptor"))
		(void)!frame_send(PROXY_FD_CONNECTOR, &ask, sizeof ask, &fd, 1, 0);
	else if (captured_is(&captured, "sends-port-0"))
		ask.port = 0;
	else if (captured_is(&captured, "sends-no-name"))
		memset(ask.name, 'a', sizeof ask.name);
	else if (captured_is(&captured, "sends-twice")) /* a name that is still looked up then */
		ask = ask_of(1, "good.example", "", 8080);
	else if (captured_is(&captured, "sends-other-case"))
		ask = ask_of(1, "GOOD.example", "", 8080);
	(void)!frame_send(PROXY_FD_CONNECTOR, &ask, sizeof ask, NULL, 0, 0);
	if (captured_is(&captured, "sends-twice"))
		(void)!frame_send(PROXY_FD_CONNECTOR, &ask, sizeof ask, NULL, 0, 0);
	while (hear() != 0)
		;
	report("the dialer goes on\n");
}

/* Never reads what it is answered. */
static void hoard(void)
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
static void connect_anew(void)
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
	if (captured_is(&captured, "connects-anew-alone")) {
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

int main(int argc, char **argv)
{
	static struct proxy proxy;

	captured = captured_find(PROXY_FD_CONNECTOR);
	if (!*captured.mode)
		return honest_main(argc, argv);
	proxy_lock_down(argc, argv, &proxy);
	await_rules(&proxy);
	if (captured_call(&captured))
		report("survived\n");
	if (captured_is(&captured, "asks-for-what-is-denied"))
		ask_for_what_is_denied();
	if (captured_is(&captured, "asks-for-much"))
		ask_for_much();
	if (captured_is(&captured, "holds-much"))
		hold_much();
	if (captured_is(&captured, "tells-much"))
		tell_much();
	if (captured_is(&captured, "sends-"))
		confuse();
	if (captured_is(&captured, "hoards"))
		hoard();
	if (captured_is(&captured, "connects-anew"))
		connect_anew();
	_exit(2);
}
