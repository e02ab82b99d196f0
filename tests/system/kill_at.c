/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded: ends its process, as SIGKILL does, right before the call of a number that changes
 * names, modes or times in a directory, where YETT_TEST_KILL_AT has the number, or has it stand
 * still there, as YETT_TEST_STOP_AT says, until SIGCONT; writes how many there were to what
 * YETT_TEST_KILL_COUNT names, at an end that is none of these.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static long count;

static void step(void)
{
	const char *at = getenv("YETT_TEST_KILL_AT"), *stop = getenv("YETT_TEST_STOP_AT");

	if (++count == (at ? atol(at) : 0))
		(void)kill(getpid(), SIGKILL);
	if (count == (stop ? atol(stop) : 0))
		(void)kill(getpid(), SIGSTOP);
}

__attribute__((destructor)) static void tell(void)
{
	const char *path = getenv("YETT_TEST_KILL_COUNT");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600) : -1;

	if (fd >= 0)
		(void)dprintf(fd, "%ld", count);
}

#define WRAP(name, parameters, ...)                                                 \
	__attribute__((visibility("default"))) int name parameters;                 \
	int name parameters                                                         \
	{                                                                           \
		int(*real) parameters = (int(*) parameters)dlsym(RTLD_NEXT, #name); \
                                                                                    \
		step();                                                             \
		return real(__VA_ARGS__);                                           \
	}

WRAP(renameat, (int from, const char *name, int to, const char *new_name), from, name, to, new_name)
WRAP(renameat2, (int from, const char *name, int to, const char *new_name, unsigned flags), from,
     name, to, new_name, flags)
WRAP(mkdirat, (int directory, const char *name, mode_t mode), directory, name, mode)
WRAP(unlinkat, (int directory, const char *name, int flags), directory, name, flags)
WRAP(fchmodat, (int directory, const char *name, mode_t mode, int flags), directory, name, mode,
     flags)
WRAP(fchownat, (int directory, const char *name, uid_t uid, gid_t gid, int flags), directory, name,
     uid, gid, flags)
WRAP(utimensat, (int directory, const char *name, const struct timespec times[2], int flags),
     directory, name, times, flags)
WRAP(mknodat, (int directory, const char *name, mode_t mode, dev_t device), directory, name, mode,
     device)
WRAP(symlinkat, (const char *text, int directory, const char *name), text, directory, name)
