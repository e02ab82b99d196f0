/* SPDX-License-Identifier: Apache-2.0 */
/*
 * yett-resolver: looks up names as the host does, for the connector (yett-dialer). Descriptor 0 is
 * the socket to the connector, with packets of fixed size (resolver.h).
 *
 * It is linked with the host's C library and loads the host's name services (NSS), so it cannot be
 * restricted much, and it parses what the internet sends. So each question gets its own child
 * process, whose only descriptor is a pipe for the answer: a slow, crashed or compromised child
 * affects only its name. The parent must wait only in poll(2). Runs as the caller, without
 * privilege, from its first instruction. The exit status is the number of the stage that failed.
 */
#include "base/clock.h"
#include "helper/privilege/lockdown.h"
#include "programs/net/resolver.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <resolv.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum stage {
	STAGE_DESCRIPTORS = 1,
	STAGE_LIMITS,
	STAGE_CAPABILITIES,
	STAGE_NO_NEW_PRIVS,
	STAGE_UNDUMPABLE,
	STAGE_LANDLOCK,
	STAGE_DEATH_SIGNAL,
};

#define V4_AT 12 /* start of the IPv4 address in its mapped form, see net_address.h */

/* A child that looks up one name. */
struct child {
	pid_t pid;  /* 0: none */
	int answer; /* read end of the pipe; owned */
	uint32_t id;
	uint64_t deadline_ms;
};

static void resolver_main_need(bool done, enum stage stage)
{
	if (!done)
		_exit((int)stage);
}

/*
 * Forbids writing files, and core dumps. With RLIMIT_CORE 1, unlike with 0, the kernel does not run
 * the host's core_pattern program either (core(5)). Leaves descriptors and memory for name
 * services, which may map large caches.
 */
static bool resolver_main_limit(void)
{
	static const struct lockdown_limit limits[] = {
		{RLIMIT_CORE, 1},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NOFILE, 64},
		{RLIMIT_AS, LOCKDOWN_ADDRESS_SPACE(1u << 30)},
	};

	return lockdown_limits(limits, ARRAY_SIZE(limits));
}

/*
 * All rights of version 1 except reading, and rights that Debian 12's headers do not have; the
 * numbers are the kernel's.
 */
#define RIGHTS_CHANGE                               \
	(((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1) & \
	 ~(UINT64_C(0) + LANDLOCK_ACCESS_FS_READ_FILE + LANDLOCK_ACCESS_FS_READ_DIR))
#define RIGHT_TRUNCATE         (UINT64_C(1) << 14)
#define SCOPE_ABSTRACT_SOCKETS (UINT64_C(1) << 0)
#define SCOPE_SIGNALS          (UINT64_C(1) << 1)

/*
 * Lets this process no longer change, make or execute files, or signal other processes. Name
 * services still can read files and use sockets. Does nothing on a kernel without Landlock.
 * landlock(7)
 */
static bool resolver_main_confine(void)
{
	struct {
		uint64_t files, tcp, scoped;
	} ruleset = {.files = RIGHTS_CHANGE};
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	_cleanup_fd_ int fd = -1;

	if (abi < 1)
		return true;
	ruleset.files |= abi >= 3 ? RIGHT_TRUNCATE : 0;
	ruleset.scoped = abi >= 6 ? SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS : 0;
	fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, sizeof ruleset, 0);
	return fd >= 0 && syscall(SYS_landlock_restrict_self, fd, 0) == 0;
}

static void resolver_main_lock_down(void)
{
	resolver_main_need(syscall(SYS_close_range, 3u, ~0u, 0u) == 0, STAGE_DESCRIPTORS);
	resolver_main_need(resolver_main_limit(), STAGE_LIMITS);
	resolver_main_need(lockdown_capabilities(), STAGE_CAPABILITIES);
	resolver_main_need(lockdown_no_new_privs(), STAGE_NO_NEW_PRIVS);
	resolver_main_need(lockdown_undumpable(), STAGE_UNDUMPABLE);
	resolver_main_need(resolver_main_confine(), STAGE_LANDLOCK);
}

static int read_error(int r)
{
	switch (r) {
	case EAI_NONAME:
	case EAI_NODATA:
	case EAI_ADDRFAMILY:
		return ENOENT;
	case EAI_AGAIN:
		return EAGAIN;
	default:
		return EIO;
	}
}

static bool read_address(const struct addrinfo *info, struct net_address *ret_address)
{
	struct net_address address = {{[10] = 0xff, [11] = 0xff}};

	if (info->ai_family == AF_INET)
		memcpy(address.bytes + V4_AT,
		       &((const struct sockaddr_in *)info->ai_addr)->sin_addr, 4);
	else if (info->ai_family == AF_INET6)
		memcpy(address.bytes, &((const struct sockaddr_in6 *)info->ai_addr)->sin6_addr,
		       sizeof address.bytes);
	else
		return false;
	*ret_address = address;
	return true;
}

/*
 * Looks up only the name itself, without a search list: with `search evil` and `options ndots:5` an
 * allowed name would become another name. A final dot would prevent this, too, but then no line of
 * /etc/hosts matches. resolv.conf(5), resolver(3)
 *
 * AI_ADDRCONFIG as the host's own programs use it: without IPv6 no AAAA query is sent in vain.
 * getaddrinfo(3)
 */
static void resolver_main_look_up(const char *name, struct resolver_answer *answer)
{
	const struct addrinfo hints = {
		.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
	struct addrinfo *list = NULL;
	int r;

	if (res_init() < 0) {
		answer->error = EIO;
		return;
	}
	_res.options &= ~(RES_DNSRCH | RES_DEFNAMES);
	r = getaddrinfo(name, NULL, &hints, &list);
	if (r != 0) {
		answer->error = read_error(r);
		return;
	}
	for (const struct addrinfo *info = list; info && answer->count < RESOLVER_ADDRESSES_MAX;
	     info = info->ai_next)
		if (read_address(info, &answer->addresses[answer->count]))
			answer->count++;
	answer->error = answer->count == 0 ? ENOENT : 0;
	freeaddrinfo(list);
}

/* Keeps only the write end of its own pipe, and ends with its parent. */
_Noreturn static void answer_in_child(const struct resolver_question *question, int pipe,
                                      pid_t parent)
{
	struct resolver_answer answer = {.id = question->id};

	resolver_main_need(dup2(pipe, STDIN_FILENO) == STDIN_FILENO &&
	                           syscall(SYS_close_range, 3u, ~0u, 0u) == 0,
	                   STAGE_DESCRIPTORS);
	resolver_main_need(lockdown_death_signal() && getppid() == parent, STAGE_DEATH_SIGNAL);
	resolver_main_look_up(question->name, &answer);
	_exit(write(STDIN_FILENO, &answer, sizeof answer) == sizeof answer ? 0 : 1);
}

static int resolver_main_begin(struct child *child, const struct resolver_question *question)
{
	pid_t parent = getpid();
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child->pid = fork();
	if (child->pid == 0)
		answer_in_child(question, ends[1], parent);
	(void)close(ends[1]);
	if (child->pid < 0) {
		child->pid = 0;
		(void)close(ends[0]);
		return -EAGAIN;
	}
	child->answer = ends[0];
	child->id = question->id;
	child->deadline_ms = clock_now_ms() + RESOLVER_SECONDS * 1000;
	return 0;
}

/*
 * The connector receives the answers to its questions. If it does not, nobody else needs this
 * process.
 */
static void resolver_main_report(const struct resolver_answer *answer)
{
	if (send(STDIN_FILENO, answer, sizeof *answer, MSG_NOSIGNAL) != sizeof *answer)
		_exit(0);
}

/*
 * Takes the child's answer, or the error `otherwise`, and ends the child, whatever it still does.
 * The answer is one write(2) of less than PIPE_BUF, so it arrives as a whole or not at all.
 */
static void resolver_main_end(struct child *child, int otherwise)
{
	struct resolver_answer answer;

	if (otherwise != 0 || read(child->answer, &answer, sizeof answer) != sizeof answer)
		answer = (struct resolver_answer){.error = otherwise != 0 ? otherwise : EIO};
	answer.id = child->id;
	(void)kill(child->pid, SIGKILL); /* the pid is not reused before waitpid(2) */
	(void)waitpid(child->pid, NULL, 0);
	(void)close(child->answer);
	child->pid = 0;
	resolver_main_report(&answer);
}

static void resolver_main_hear(struct child *free)
{
	struct resolver_question question;

	/*
	 * Anything but a question means that the connector is gone. The name is not checked: the
	 * connector may ask for any name.
	 */
	if (recv(STDIN_FILENO, &question, sizeof question, MSG_TRUNC) != sizeof question ||
	    !memchr(question.name, 0, sizeof question.name))
		_exit(0);
	if (resolver_main_begin(free, &question) < 0)
		resolver_main_report(&(struct resolver_answer){.id = question.id, .error = EAGAIN});
}

static int resolver_main_timeout_of(const struct child children[RESOLVER_AT_ONCE_MAX])
{
	uint64_t now_ms = clock_now_ms(), next = UINT64_MAX;

	for (size_t i = 0; i < RESOLVER_AT_ONCE_MAX; i++)
		if (children[i].pid > 0 && children[i].deadline_ms < next)
			next = children[i].deadline_ms;
	return next == UINT64_MAX ? -1 : next <= now_ms ? 0 : (int)(next - now_ms);
}

static struct child *resolver_main_find_free(struct child children[RESOLVER_AT_ONCE_MAX])
{
	for (size_t i = 0; i < RESOLVER_AT_ONCE_MAX; i++)
		if (children[i].pid == 0)
			return &children[i];
	return NULL;
}

/*
 * While all children are in use, questions wait in the socket. The end of the connector is noticed
 * in any case (POLLHUP).
 */
static void serve_once(struct child children[RESOLVER_AT_ONCE_MAX])
{
	struct pollfd polled[RESOLVER_AT_ONCE_MAX + 1];
	struct child *free = resolver_main_find_free(children);
	uint64_t now_ms;

	polled[RESOLVER_AT_ONCE_MAX] = (struct pollfd){STDIN_FILENO, free ? POLLIN : 0, 0};
	for (size_t i = 0; i < RESOLVER_AT_ONCE_MAX; i++)
		polled[i] =
			(struct pollfd){children[i].pid > 0 ? children[i].answer : -1, POLLIN, 0};
	if (poll(polled, ARRAY_SIZE(polled), resolver_main_timeout_of(children)) < 0)
		return;
	if (polled[RESOLVER_AT_ONCE_MAX].revents & (POLLHUP | POLLERR))
		_exit(0);
	now_ms = clock_now_ms();
	for (size_t i = 0; i < RESOLVER_AT_ONCE_MAX; i++) {
		if (polled[i].revents)
			resolver_main_end(&children[i], 0);
		else if (children[i].pid > 0 && children[i].deadline_ms <= now_ms)
			resolver_main_end(&children[i], ETIMEDOUT);
	}
	if (polled[RESOLVER_AT_ONCE_MAX].revents & POLLIN)
		resolver_main_hear(free);
}

int main(int argc, char **argv)
{
	struct child children[RESOLVER_AT_ONCE_MAX] = {0};

	(void)argc;
	/* Otherwise the name is the number of a descriptor: execveat(2) */
	(void)prctl(PR_SET_NAME, argv[0], 0, 0, 0);
	resolver_main_lock_down();
	for (;;)
		serve_once(children);
}
