/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See table.h. Data only. Comments name the function that needs a call where it is not obvious.
 *
 * Constants in arguments are the same on all architectures that Yett supports, so they may come
 * from the machine that builds.
 */
#include "programs/filters/table.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define KILL     SECCOMP_RET_KILL_PROCESS
#define ERROR(e) (SECCOMP_RET_ERRNO | (uint32_t)(e))

#define IS(argument, number)                               \
	{                                                  \
		(argument), UINT32_MAX, (uint32_t)(number) \
	}
#define HAS_NOT(argument, bits)                 \
	{                                       \
		(argument), (uint32_t)(bits), 0 \
	}

/* What a program needs to end, and what a sanitizer needs. */
#define END                                                                            \
	{"rt_sigreturn exit exit_group"},                                              \
	{                                                                              \
		"sigaltstack mprotect futex sched_yield rt_sigprocmask gettid getpid", \
			.variant = FILTERS_SANITIZER                                   \
	}

/*
 * For processes that hold connected sockets. A connected socket must not be connected to a second
 * place (MSG_FASTOPEN), and must not send signals (F_SETOWN and the like, O_ASYNC), because the
 * process may be compromised. flow.c and ruleset.c use F_GETFL, F_SETFL and F_GET_SEALS; the other
 * two commands are harmless. seccomp(2), fcntl(2), tcp(7)
 */
#define CONNECTED                                                                              \
	{"sendto", 1, {HAS_NOT(3, MSG_FASTOPEN)}}, {"sendmsg", 1, {HAS_NOT(2, MSG_FASTOPEN)}}, \
		{"fcntl", 2, {IS(1, F_SETFL), HAS_NOT(2, O_ASYNC)}},                           \
		{"fcntl", 1, {IS(1, F_GETFL)}}, {"fcntl", 1, {IS(1, F_GET_SEALS)}},            \
		{"fcntl", 1, {IS(1, F_GETFD)}},                                                \
	{                                                                                      \
		"fcntl", 1,                                                                    \
		{                                                                              \
			IS(1, F_DUPFD_CLOEXEC)                                                 \
		}                                                                              \
	}

/* A socket as connect_begin() makes it. */
#define TCP_SOCKET(family)                                                                \
	{                                                                                 \
		"socket", 3,                                                              \
		{                                                                         \
			IS(0, family), IS(1, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC), \
				IS(2, IPPROTO_TCP)                                        \
		}                                                                         \
	}

/*
 * What yett-diff and yett-apply both need: to read, to write to open descriptors, and memory.
 * qsort(3) needs sysinfo(2): before version 2.37, glibc asks for the size of memory before it sorts
 * more than a few elements.
 */
#define READING                                                                                 \
	{"openat2 openat close read write writev lseek fstat newfstatat getdents64"},           \
		{"readlinkat fcntl fgetxattr brk mmap munmap mremap mprotect madvise futex"},   \
		{"getpid clock_gettime getrandom exit exit_group rt_sigprocmask rt_sigreturn"}, \
	{                                                                                       \
		"restart_syscall sysinfo"                                                       \
	}

const struct filters_program filters_programs[] = {
	/* The same four calls as strict mode, for where the kernel refuses strict mode. */
	{"decoder",
         KILL,
         KILL,
         {
		 {"read write exit rt_sigreturn"},
	 }},
	/*
         * To talk to the client, the monitor and the decoder, and to manage memory. With this
         * filter the decider can open no path, start no process, send no signal and connect no
         * socket, and the only sockets that it can make are those of socketpair(2).
         */
	{"decider",
         KILL,
         KILL,
         {
		 /* packets of the client, the monitor, the decoder and supervisors */
		 {"read write recvmsg recvfrom sendmsg sendto close"},
		 {"ioctl"}, /* connection_check_unread */
		 /* waiting */
		 {"ppoll poll epoll_pwait epoll_wait epoll_create1 epoll_ctl"},
		 {"clock_gettime restart_syscall"},
		 {"socketpair"}, /* streams_add */
		 /* memory; qsort_r(3) asks for its size by sysinfo(2) */
		 {"brk mmap munmap mremap madvise sysinfo"},
		 /* memfds with lists and printed plans; random ids and challenges */
		 {"memfd_create pread64 newfstatat getrandom"},
		 {"fcntl"}, /* fd_seal */
		 /* explain_end: how the decoder ended */
		 {"pidfd_open waitid"},
		 END,
	 }},
	/* Appends to open files. Opens and removes nothing. */
	{"audit",
         KILL,
         KILL,
         {
		 /* clients of the audit socket */
		 {"accept4 getsockopt recvmsg recvfrom sendmsg sendto shutdown close"},
		 /* the log writer; glibc calls newfstatat(2) for fstat(2) */
		 {"pread64 pwrite64 write fdatasync fstat getrandom"},
		 {"newfstatat", .variant = FILTERS_GLIBC},
		 /* waiting, and time */
		 {"ppoll poll clock_gettime restart_syscall"},
		 END,
		 {"mmap munmap madvise", .variant = FILTERS_SANITIZER},
	 }},
	/*
         * To accept, move and close what others have made or sent. No new socket, no connect(2), no
         * path and no process.
         */
	{"proxy",
         KILL,
         KILL,
         {
		 /* connections */
		 {"accept4 getsockname setsockopt shutdown close splice pipe2"},
		 {"getsockopt"}, /* is_cut */
		 {"write"},      /* take_urgent */
		 /* datagrams, packets, streams */
		 {"recvfrom recvmsg"},
		 CONNECTED,
		 /* waiting */
		 {"epoll_ctl epoll_pwait epoll_wait clock_gettime restart_syscall"},
		 /* new rules: ruleset_change, connections_max */
		 {"fstat newfstatat prlimit64 getrlimit"},
		 /* memory */
		 {"brk mmap munmap mremap madvise"},
		 END,
	 }},
	/*
         * Packets, memory, and TCP sockets, of which only the answer of an HTTP proxy is read. No
         * path, no process and no signal. A Unix socket could reach the caller's session bus, or
         * another service of the caller that is reached by a name.
         */
	{"connector",
         KILL,
         KILL,
         {
		 /* packets of the proxy, the supervisor and the resolver; questions about routes */
		 {"recvmsg recvfrom close"},
		 CONNECTED,
		 /* connections: connect_begin, connections_check */
		 TCP_SOCKET(AF_INET),
		 TCP_SOCKET(AF_INET6),
		 {"connect setsockopt getsockopt shutdown"},
		 /* waiting */
		 {"epoll_ctl epoll_pwait epoll_wait clock_gettime restart_syscall"},
		 {"ppoll poll"}, /* notice_ends */
		 /* ruleset_change */
		 {"fstat newfstatat statx"},
		 /* memory */
		 {"brk mmap munmap mremap madvise"},
		 END,
		 {"write", .variant = FILTERS_SANITIZER},
	 }},
	/* No file is made or changed, nothing is executed, signalled or connected to. */
	{"diff",
         KILL,
         KILL,
         {
		 READING,
	 }},
	/*
         * Further, to rename, make and remove files, links and directories. Nothing is executed,
         * signalled or connected to. inherit.c sets the group and attributes of staged files.
         */
	{"apply",
         KILL,
         KILL,
         {
		 READING,
		 {"pread64 pwrite64 renameat2 mkdirat unlinkat symlinkat fchmod fchmodat fchownat"},
		 {"ftruncate fsync syncfs flock geteuid getegid copy_file_range getxattr setxattr"},
		 {"fstatfs"},
	 }},
	/*
         * To read and write an archive, with the C library: files, the pipe, the open socket, and
         * memory. No call starts or signals a process, or connects to anything. fcntl(2) up to
         * F_SETFL leaves out F_SETOWN, which makes the kernel send signals.
         */
	{"files",
         ERROR(EPERM),
         ERROR(ENOSYS),
         {
		 {"read write pread64 pwrite64 readv writev lseek close ppoll poll sendmsg openat fstat"},
		 {"newfstatat statx getdents64 readlinkat faccessat faccessat2 fadvise64 mkdirat"},
		 {"symlinkat linkat renameat renameat2 unlinkat ftruncate fchmod utimensat"},
		 {"brk munmap mremap madvise futex getrandom clock_gettime gettimeofday getpid getuid"},
		 {"geteuid getgid getegid umask rt_sigprocmask rt_sigreturn restart_syscall exit"},
		 {"exit_group"},
		 {"mmap mprotect", 1, {HAS_NOT(2, PROT_EXEC)}},
		 {"fcntl", 1, {IS(1, F_SETFL)}},
		 {"fcntl",
                  1,
                  {{1, ~(uint32_t)F_GETFL, 0}}}, /* F_DUPFD, F_GETFD, F_SETFD, F_GETFL */
	 }},
};
const size_t filters_programs_count = sizeof filters_programs / sizeof *filters_programs;
