/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves bytes for network.py: outside, in a sandbox, and in what its peers make, by the same code.
 * Without privilege.
 *
 * serve PORT      on all addresses, one connection at a time each: at PORT one byte to whoever
 * connects, at the next one bytes without end, at the third one takes all that comes, and answers
 * with one byte. Says "ready". ask HOST PORT   such a server. Reads lines, and answers each with a
 * number: first COUNT     microseconds from the beginning of a connection to the first byte of the
 * other side: the median of so many in MIB          milliseconds that so many MiB take, from the
 * beginning of the connection to the last byte; -1: it broke off before out MIB         likewise,
 * until the other side has all of them name COUNT      microseconds that the name server takes to
 * tell the host's address: the median of so many
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <resolv.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define COUNT_MAX 10000
#define CHUNK     (256 << 10)
#define BACKLOG   64
#define BROKEN    -1.0

enum service { FIRST, SOURCE, SINK, SERVICES };

static char chunk[CHUNK];

static _Noreturn void fail(const char *what)
{
	perror(what);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- the server --- */

static void serve_one(enum service service, int fd)
{
	if (service == FIRST)
		(void)!write(fd, "", 1);
	if (service == SOURCE)
		while (write(fd, chunk, sizeof chunk) > 0)
			;
	while (read(fd, chunk, sizeof chunk) > 0)
		;
	if (service == SINK)
		(void)!write(fd, "", 1);
	(void)close(fd);
}

static void serve(uint16_t port)
{
	const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const int on = 1;

	for (enum service service = FIRST; service < SERVICES; service++) {
		struct sockaddr_in6 address = any;
		int listening = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
		pid_t pid;

		address.sin6_port = htons((uint16_t)(port + service));
		if (setsockopt(listening, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0 ||
		    bind(listening, (const struct sockaddr *)&address, sizeof address) < 0 ||
		    listen(listening, BACKLOG) < 0)
			fail("serve");
		pid = fork();
		if (pid < 0)
			fail("fork");
		if (pid > 0)
			continue;
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (;;) {
			int fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);

			if (fd < 0)
				fail("accept");
			serve_one(service, fd);
		}
	}
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}

/* --- the client --- */

static struct sockaddr_in server; /* at its first port */
static const char *host;

static int connect_to(enum service service)
{
	struct sockaddr_in address = server;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_port = htons((uint16_t)(ntohs(server.sin_port) + service));
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0)
		fail("connect");
	return fd;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Of what `function` takes, in microseconds. */
static double median_of(double (*function)(void), int count)
{
	static double times[COUNT_MAX];

	for (int i = 0; i < count; i++)
		times[i] = function();
	qsort(times, (size_t)count, sizeof *times, compare);
	return times[count / 2];
}

static double first_byte(void)
{
	double before = now_us(), after;
	int fd = connect_to(FIRST);
	char byte;

	if (read(fd, &byte, 1) != 1)
		fail("the first byte");
	after = now_us();
	/* Whoever is in between has done with it before the next one. */
	if (shutdown(fd, SHUT_WR) < 0 || read(fd, &byte, 1) != 0)
		fail("the end");
	(void)close(fd);
	return after - before;
}

static double take(long long bytes)
{
	double before = now_us();
	int fd = connect_to(SOURCE);

	while (bytes > 0) {
		ssize_t n = read(fd, chunk, bytes < CHUNK ? (size_t)bytes : CHUNK);

		if (n <= 0)
			return close(fd), BROKEN;
		bytes -= n;
	}
	(void)close(fd);
	return (now_us() - before) / 1e3;
}

static double give(long long bytes)
{
	double before = now_us();
	int fd = connect_to(SINK);
	char byte;

	while (bytes > 0) {
		ssize_t n = write(fd, chunk, bytes < CHUNK ? (size_t)bytes : CHUNK);

		if (n <= 0)
			return close(fd), BROKEN;
		bytes -= n;
	}
	if (shutdown(fd, SHUT_WR) < 0 || read(fd, &byte, 1) != 1)
		return close(fd), BROKEN;
	(void)close(fd);
	return (now_us() - before) / 1e3;
}

/* One question, from a socket of its own, as programs ask. */
static double name_lookup(void)
{
	unsigned char question[NS_PACKETSZ], answer[NS_PACKETSZ];
	int length = res_mkquery(ns_o_query, host, ns_c_in, ns_t_a, NULL, 0, NULL, question,
	                         sizeof question),
	    fd;
	double before = now_us(), after;
	ssize_t n;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (length < 0 ||
	    connect(fd, (const struct sockaddr *)&_res.nsaddr_list[0], sizeof _res.nsaddr_list[0]) <
	            0 ||
	    send(fd, question, (size_t)length, 0) != length)
		fail("a question");
	n = recv(fd, answer, sizeof answer, 0);
	after = now_us();
	if (n < NS_HFIXEDSZ || (answer[3] & 15) != ns_r_noerror || answer[7] == 0)
		fail("the answer about a name");
	(void)close(fd);
	return after - before;
}

static void find_server(const char *port)
{
	const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;

	if (getaddrinfo(host, port, &hints, &found) != 0 || res_init() < 0)
		fail(host);
	memcpy(&server, found->ai_addr, sizeof server);
	freeaddrinfo(found);
}

static double answer(const char *kind, int count)
{
	if (strcmp(kind, "first") == 0 && count <= COUNT_MAX)
		return median_of(first_byte, count);
	if (strcmp(kind, "name") == 0 && count <= COUNT_MAX)
		return median_of(name_lookup, count);
	if (strcmp(kind, "in") == 0)
		return take((long long)count << 20);
	if (strcmp(kind, "out") == 0)
		return give((long long)count << 20);
	errno = EINVAL;
	fail(kind);
}

int main(int argc, char **argv)
{
	char line[64], kind[16];
	int count;

	(void)signal(SIGPIPE, SIG_IGN);
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		serve((uint16_t)atoi(argv[2]));
	if (argc != 4 || strcmp(argv[1], "ask") != 0) {
		(void)fprintf(stderr, "usage: traffic serve PORT | traffic ask HOST PORT\n");
		return 2;
	}
	host = argv[2];
	find_server(argv[3]);
	(void)printf("ready\n");
	(void)fflush(stdout);
	while (fgets(line, sizeof line, stdin) && sscanf(line, "%15s %d", kind, &count) == 2 &&
	       count > 0) {
		(void)printf("%.3f\n", answer(kind, count));
		(void)fflush(stdout);
	}
	return 0;
}
