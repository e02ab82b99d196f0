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

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CAPTURED_MARK "hostile-"

struct captured {
	char mode[64]; /* empty: none, and it is as honest as the real one */
	unsigned number;
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
	const char *at =
		n > 0 ? memmem(bytes, (size_t)n, CAPTURED_MARK, sizeof CAPTURED_MARK - 1) : NULL;
	char *number;

	(void)close(rules);
	if (!at)
		return found;
	at += sizeof CAPTURED_MARK - 1;
	memcpy(found.mode, at, strnlen(at, sizeof found.mode - 1));
	found.mode[strcspn(found.mode, ".")] = '\0';
	number = strstr(found.mode, "-at-");
	if (number) {
		found.number = (unsigned)strtoul(number + sizeof "-at-" - 1, NULL, 10);
		*number = '\0';
	}
	return found;
}

static inline bool captured_is(const struct captured *captured, const char *mode)
{
	return strncmp(captured->mode, mode, strlen(mode)) == 0;
}

static inline bool captured_is_unfiltered(const struct captured *captured)
{
	return strstr(captured->mode, "unfiltered") != NULL;
}

/* Makes a call that is forbidden; false: the mode is not about one. Whether it returns at all is
 * what is looked at. */
static inline bool captured_call(const struct captured *captured)
{
	const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};

	if (captured_is(captured, "call-unix"))
		(void)!syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0);
	else if (captured_is(captured, "call-udp"))
		(void)!syscall(SYS_socket, AF_INET, SOCK_DGRAM, 0);
	else if (captured_is(captured, "call-netlink"))
		(void)!syscall(SYS_socket, AF_NETLINK, SOCK_RAW, 0);
	else if (captured_is(captured, "call-tcp"))
		(void)!syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
	else if (captured_is(captured, "call-connect"))
		(void)!syscall(SYS_connect, -1, &nowhere, sizeof nowhere);
	else if (captured_is(captured, "call-bind"))
		(void)!syscall(SYS_bind, -1, &nowhere, sizeof nowhere);
	else if (captured_is(captured, "call-listen"))
		(void)!syscall(SYS_listen, -1, 1);
	else if (captured_is(captured, "call-open"))
		(void)!syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY);
	else if (captured_is(captured, "call-fork"))
		(void)!syscall(SYS_clone, 1 << 30, NULL, NULL, NULL,
		               NULL); /* a flag that may not be: no process is made */
	else if (captured_is(captured, "call-exec"))
		(void)!syscall(SYS_execve, "", NULL, NULL);
	else if (captured_is(captured, "call-kill"))
		(void)!syscall(SYS_kill, 1, 0);
	else if (captured_is(captured, "call-ptrace"))
		(void)!syscall(SYS_ptrace, PTRACE_SEIZE, 1, 0, 0);
	else if (captured_is(captured, "call-memory"))
		(void)!syscall(SYS_process_vm_readv, 1, NULL, 0, NULL, 0, 0);
	else if (captured_is(captured, "call-pidfd"))
		(void)!syscall(SYS_pidfd_open, 1, 0);
	else if (captured_is(captured, "call-setns"))
		(void)!syscall(SYS_setns, -1, 0);
	else if (captured_is(captured, "call-unshare"))
		(void)!syscall(SYS_unshare, 0);
	else if (captured_is(captured, "call-io-uring"))
		(void)!syscall(SYS_io_uring_setup, 0, NULL);
	else if (captured_is(captured, "call-bpf"))
		(void)!syscall(SYS_bpf, -1, NULL, 0);
	else
		return false;
	return true;
}

/* Which one this process is, once it has looked. */
static struct captured captured;

/* What the honest part enters in the place of lockdown_filter(). */
static inline bool captured_filter(const struct sock_fprog *filter)
{
	return captured_is_unfiltered(&captured) || lockdown_filter(filter);
}
