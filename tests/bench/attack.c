/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one account does to make others wait, without end: attack KIND COUNT. For crowd.py, which
 * ends it. It prints "ready" once it has begun.
 *
 *   busy       COUNT processes that use a processor each, and never come near the helper: what any
 * account can do loop       COUNT processes that connect and close linger     COUNT connections,
 * each of which brings a TCP socket that takes an hour to close; whoever is turned away comes again
 *   subuids    as `linger`, without the sockets, from eight ids of a user namespace that crowd.py
 * maps, COUNT connections each elsewhere  the same at a socket of our own, where a process accepts
 * and closes: what that costs without the helper refused    COUNT connections that ask for a
 * profile that they may not have
 */
#include "libclient/yett.h"

#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define IDS 8

static void must(int result, const char *what)
{
	if (result < 0) {
		perror(what);
		exit(1);
	}
}

/* A process that ends with us. True in it. */
static bool in_child(void)
{
	pid_t pid = fork();

	must(pid, "fork");
	if (pid == 0)
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return pid == 0;
}

/* Whose socket is connected to: the helper's, unless it is our own. */
static struct sockaddr_un whose = {.sun_family = AF_UNIX};
static socklen_t whose_size = sizeof whose;

/* -1 with EAGAIN when the queue of the socket is full. */
static int to_helper(int flags)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | flags, 0);

	if (connect(fd, (struct sockaddr *)&whose, whose_size) == 0)
		return fd;
	close(fd);
	return -1;
}

static void be_busy(void)
{
	for (volatile unsigned n = 0;; n++)
		;
}

static void connect_and_close(void)
{
	for (;;)
		close(to_helper(0));
}

/* Where nobody reads, so that what was sent stays, and closing waits for it. socket(7), SO_LINGER
 */
static struct sockaddr_in nobody_reads;

static int listen_and_never_read(void)
{
	socklen_t size = sizeof nobody_reads;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;

	nobody_reads = (struct sockaddr_in){.sin_family = AF_INET,
	                                    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
	must(bind(fd, (struct sockaddr *)&nobody_reads, size), "bind");
	must(listen(fd, 1), "listen");
	must(getsockname(fd, (struct sockaddr *)&nobody_reads, &size), "getsockname");
	return fd;
}

/* In a process of its own, as a process that ends does not wait for what it closes, and the helper
 * is to be the last. */
static void send_what_lingers(int to)
{
	static const struct linger linger = {.l_onoff = 1, .l_linger = 3600};
	char bytes[4096] = {0}, control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec part = {.iov_base = bytes, .iov_len = 1};
	struct msghdr message = {.msg_iov = &part,
	                         .msg_iovlen = 1,
	                         .msg_control = control,
	                         .msg_controllen = sizeof control};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = 4096;

	(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
	must(connect(fd, (struct sockaddr *)&nobody_reads, sizeof nobody_reads),
	     "connect to ourselves");
	while (send(fd, bytes, sizeof bytes, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		;
	must(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), "SO_LINGER");
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(header), &fd, sizeof fd);
	(void)!sendmsg(to, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	_exit(0);
}

/* Connects, and where `listening` is one, brings what lingers. The peers of those are in `peers`.
 */
static int come(int listening, int *peer)
{
	int fd = to_helper(listening < 0 ? SOCK_NONBLOCK : 0);

	if (fd < 0 || listening < 0)
		return fd;
	if (in_child())
		send_what_lingers(fd);
	*peer = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	must(*peer, "accept");
	while (waitpid(-1, NULL, 0) > 0)
		;
	return fd;
}

/* Whether the helper hung up, or said that it will. What it says first is its hello, of the first
 * type there is. */
static bool is_turned_away(int fd)
{
	unsigned char bytes[4096];
	ssize_t n = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);

	return n == 0 || (n < 0 && errno != EAGAIN);
}

/* Holds so many connections, and comes again for each that is turned away. */
static void hold(size_t count, int listening)
{
	int *sockets = calloc(count, sizeof *sockets), *peers = calloc(count, sizeof *peers);

	if (!sockets || !peers)
		exit(1);
	for (size_t i = 0; i < count; i++)
		sockets[i] = come(listening, &peers[i]);
	(void)printf("ready\n");
	(void)fflush(stdout);
	for (;; (void)poll(NULL, 0, 10))
		for (size_t i = 0; i < count; i++) {
			if (sockets[i] >= 0 && !is_turned_away(sockets[i]))
				continue;
			if (sockets[i] >= 0)
				close(sockets[i]);
			if (sockets[i] >= 0 && listening >= 0) /* what the helper has not closed
			                                          yet, still lingers without this */
				close(peers[i]);
			sockets[i] = come(listening, &peers[i]);
		}
}

static void linger(size_t count)
{
	hold(count, listen_and_never_read());
}

static void hold_from_subuids(size_t count)
{
	must(unshare(CLONE_NEWUSER), "unshare");
	(void)printf("ready\n");
	(void)fflush(stdout);
	(void)getchar(); /* mapped */
	for (unsigned id = 1; id <= IDS; id++)
		if (in_child()) {
			must(setgroups(0, NULL), "setgroups");
			must(setresgid(id, id, id), "setresgid");
			must(setresuid(id, id, id), "setresuid");
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
			hold(count, -1);
		}
}

static void hold_elsewhere(size_t count)
{
	int listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	must(bind(listening, (struct sockaddr *)&whose, sizeof whose.sun_family),
	     "bind"); /* to a name that the kernel makes up: unix(7) */
	whose_size = sizeof whose;
	must(getsockname(listening, (struct sockaddr *)&whose, &whose_size), "getsockname");
	must(listen(listening, 8), "listen");
	if (in_child())
		for (;;)
			close(accept4(listening, NULL, NULL, SOCK_CLOEXEC));
	hold_from_subuids(count);
}

static void ask_without_end(void)
{
	static const struct yett_sandbox_options options = {.size = sizeof options,
	                                                    .profile = "no-such-profile"};

	for (;;) {
		struct yett_connection *connection = NULL;
		struct yett_sandbox *sandbox;
		struct yett_error error;

		if (yett_connect(NULL, &connection, &error) != 0)
			continue;
		while (yett_sandbox_create(connection, &options, &sandbox, &error) ==
		       YETT_E_PERMISSION_DENIED)
			;
		yett_connection_close(connection);
	}
}

static const struct {
	const char *name;
	void (*in_each)(void); /* in so many processes */
	void (*in_one)(size_t count);
} kinds[] = {
	{"busy", be_busy, NULL},
	{"loop", connect_and_close, NULL},
	{"refused", ask_without_end, NULL},
	{"linger", NULL, linger},
	{"subuids", NULL, hold_from_subuids},
	{"elsewhere", NULL, hold_elsewhere},
};

int main(int argc, char **argv)
{
	struct rlimit files;
	size_t count = argc == 3 ? strtoul(argv[2], NULL, 10) : 0, kind = 0;

	while (kind < sizeof kinds / sizeof *kinds &&
	       (argc != 3 || strcmp(argv[1], kinds[kind].name) != 0))
		kind++;
	if (count == 0 || kind == sizeof kinds / sizeof *kinds) {
		(void)fprintf(stderr,
		              "usage: attack busy|loop|linger|subuids|elsewhere|refused COUNT\n");
		return 2;
	}
	(void)snprintf(whose.sun_path, sizeof whose.sun_path, "%s",
	               getenv("YETT_SOCKET") ? getenv("YETT_SOCKET") : "/run/yett/socket");
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	if (kinds[kind].in_one)
		kinds[kind].in_one(count);
	for (size_t i = 0; kinds[kind].in_each && i < count; i++)
		if (in_child())
			kinds[kind].in_each();
	if (kinds[kind].in_each) {
		(void)printf("ready\n");
		(void)fflush(stdout);
	}
	for (;;)
		(void)pause();
}
