/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the captured yett-front and yett-dialer share: which attack it is, by a rule for a name that
 * says so, as in "hostile-MODE-at-NUMBER.example"; and system calls that their filters forbid. For
 * programs of these tests.
 *
 * With "unfiltered" in the mode the filter is left out, so that a test sees that it was that.
 */
#pragma once

#include "helper/privilege/lockdown.h"
#include "programs/net/egress.h"
#include "tests/support/scripted.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

struct captured {
	struct script_wish wish; /* of nothing: it is as honest as the real one */
	unsigned number;         /* the argument */
	bool is_unfiltered;
};

/* The rules, sealed memory, of the first packet that comes: it stays there for whoever reads it
 * next. */
static inline int captured_rules(int socket)
{
	char byte, control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {&byte, sizeof byte};
	struct msghdr message = {.msg_iov = &part,
	                         .msg_iovlen = 1,
	                         .msg_control = control,
	                         .msg_controllen = sizeof control};
	const struct cmsghdr *header = recvmsg(socket, &message, MSG_PEEK | MSG_CMSG_CLOEXEC) > 0
	                                       ? CMSG_FIRSTHDR(&message)
	                                       : NULL;
	int fd = -1;

	if (header)
		memcpy(&fd, CMSG_DATA(header), sizeof fd);
	return fd;
}

/* Waits for the rules. */
static inline struct captured captured_find(int socket)
{
	static char bytes[1 << 16];
	struct captured found = {0};
	int rules = captured_rules(socket);
	ssize_t n = pread(rules, bytes, sizeof bytes - 1, 0);
	const char *at = n > 0 ? memmem(bytes, (size_t)n, "hostile-", 8) : NULL;
	char *unfiltered;

	(void)close(rules);
	if (!at)
		return found;
	found.wish = script_wish(at);
	found.number = (unsigned)strtoul(found.wish.argument, NULL, 10);
	unfiltered = strstr(found.wish.mode, "_unfiltered");
	if (unfiltered) {
		*unfiltered = '\0';
		found.is_unfiltered = true;
	}
	return found;
}

/* System calls that the filters forbid, with arguments that can do no harm. */
static const struct sockaddr captured_nowhere = {.sa_family = AF_UNSPEC};
static const struct {
	const char *mode;
	long number, arguments[6];
} captured_calls[] = {
	{"call_unix", SYS_socket, {AF_UNIX, SOCK_STREAM}},
	{"call_udp", SYS_socket, {AF_INET, SOCK_DGRAM}},
	{"call_netlink", SYS_socket, {AF_NETLINK, SOCK_RAW}},
	{"call_tcp", SYS_socket, {AF_INET, SOCK_STREAM}},
	{"call_connect", SYS_connect, {-1, (long)&captured_nowhere, sizeof captured_nowhere}},
	{"call_bind", SYS_bind, {-1, (long)&captured_nowhere, sizeof captured_nowhere}},
	{"call_listen", SYS_listen, {-1, 1}},
	{"call_open", SYS_openat, {AT_FDCWD, (long)"/", O_RDONLY | O_DIRECTORY}},
	{"call_fork", SYS_clone, {1 << 30}}, /* a flag that may not be: no process is made */
	{"call_exec", SYS_execve, {(long)""}},
	{"call_kill", SYS_kill, {1}},
	{"call_ptrace", SYS_ptrace, {PTRACE_SEIZE, 1}},
	{"call_memory", SYS_process_vm_readv, {1}},
	{"call_pidfd", SYS_pidfd_open, {1}},
	{"call_setns", SYS_setns, {-1}},
	{"call_unshare", SYS_unshare, {0}},
	{"call_io_uring", SYS_io_uring_setup, {0}},
	{"call_bpf", SYS_bpf, {-1}},
};

/* Makes a call that is forbidden; false: the mode is not about one. Whether it returns at all is
 * what is looked at. */
static inline bool captured_call(const struct captured *captured)
{
	for (size_t i = 0; i < sizeof captured_calls / sizeof *captured_calls; i++) {
		const long *arguments = captured_calls[i].arguments;

		if (strcmp(captured_calls[i].mode, captured->wish.mode) != 0)
			continue;
		(void)!syscall(captured_calls[i].number, arguments[0], arguments[1], arguments[2],
		               arguments[3], arguments[4], arguments[5]);
		return true;
	}
	return false;
}

/* Which one this process is, once it has looked. */
static struct captured captured;

/* What the honest part enters in the place of lockdown_filter(). */
static inline bool captured_filter(const struct sock_fprog *filter)
{
	return captured.is_unfiltered || lockdown_filter(filter);
}
