/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library that is loaded into yett-diff in front of libgit2, as if that had been captured by what
 * it reads: it does what the environment says, and tells on the standard error output that it
 * could. Before yett-diff confines itself all of it is possible.
 */
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <unistd.h>

#define MORE_MEMORY ((size_t)4 << 30) /* than the program may have, and its libraries beside */

static bool opens(int flags)
{
	int fd = open(getenv("YETT_TEST_FILE"), flags | O_CLOEXEC, 0600);

	return fd >= 0 && close(fd) == 0;
}

static bool reads(void)
{
	return opens(O_RDONLY);
}

static bool writes(void)
{
	return opens(O_WRONLY);
}

static bool creates(void)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof path, "%s.made", getenv("YETT_TEST_FILE"));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	return fd >= 0 && close(fd) == 0 && unlink(path) == 0;
}

static bool takes_memory(void)
{
	return mmap(NULL, MORE_MEMORY, PROT_READ | PROT_WRITE,
	            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED;
}

static bool connects(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0) >= 0;
}

static bool signals(void)
{
	return kill(getpid(), 0) == 0;
}

static bool traces(void)
{
	return ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0;
}

static bool forks(void)
{
	pid_t pid = fork();

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool executes(void)
{
	char *const argv[] = {"sh", "-c", "echo could execute >&2", NULL}, *const environment[] = {
										   NULL};

	return execve("/bin/sh", argv, environment) == 0;
}

static void attack(const char *when)
{
	static const struct {
		const char *name;
		bool (*could)(void);
	} attacks[] = {
		{"read", reads},          {"write", writes},     {"create", creates},
		{"memory", takes_memory}, {"connect", connects}, {"signal", signals},
		{"trace", traces},        {"fork", forks},       {"execute", executes},
	};
	const char *named = getenv("YETT_TEST_ATTACK"), *at = getenv("YETT_TEST_WHEN");

	for (size_t i = 0;
	     named && at && strcmp(at, when) == 0 && i < sizeof attacks / sizeof *attacks; i++)
		if (strcmp(named, attacks[i].name) == 0)
			(void)dprintf(STDERR_FILENO, "%s %s\n",
			              attacks[i].could() ? "could" : "could not", named);
}

static void __attribute__((constructor)) before(void)
{
	attack("before");
}

/* The first that is called with what a store holds. */
int git_patch_from_buffers(git_patch **out, const void *old, size_t old_size, const char *old_name,
                           const void *new, size_t new_size, const char *new_name,
                           const git_diff_options *options)
{
	(void)old;
	(void)old_size;
	(void)old_name;
	(void)new;
	(void)new_size;
	(void)new_name;
	(void)options;
	*out = NULL;
	attack("confined");
	return -1;
}
