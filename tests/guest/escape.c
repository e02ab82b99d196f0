/*
 * See escape.h. escape             a line "NAME RESULT" for each attempt: "works", the name of an errno or of a signal, or
 *                                  "untried" for what harms the machine, unless $ESCAPE_HARM is set
 *                escape list       a line "NAME<tab>what it gives" for each
 *                escape victim     a process to be attacked: prints "PID ADDRESS" and waits
 */
#include "tests/guest/escape.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define DEADLINE_S 20 /* of one attempt that hangs; nothing is expected to take long */
#define NO_RESULT  1

static const struct attempt *const subjects[] = {escape_files, escape_host, escape_processes, escape_kernel, escape_ipc};

const char *given(const char *variable)
{
	const char *value = getenv(variable);

	if (!value) {
		(void)fprintf(stderr, "escape: $%s is missing\n", variable);
		abort();
	}
	return value;
}

long given_number(const char *variable)
{
	return strtol(given(variable), NULL, 0);
}

static const char *join(const char *directory, const char *name)
{
	static char paths[2][4096];
	static unsigned next;
	char *path = paths[next++ % 2];

	(void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
	return path;
}

const char *outside(const char *name)
{
	return join(given("ESCAPE_OUTSIDE"), name);
}

const char *shared(const char *name)
{
	return join(given("ESCAPE_SHARE"), name);
}

const char *victim_file(const char *name)
{
	char directory[32];

	(void)snprintf(directory, sizeof directory, "/proc/%ld", given_number("ESCAPE_VICTIM"));
	return join(directory, name);
}

const char *own_file(const char *name)
{
	const char *path = shared(name);
	int fd;

	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	return fd >= 0 && close(fd) == 0 ? path : NULL;
}

int try_read(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char byte;
	ssize_t n = fd < 0 ? -1 : read(fd, &byte, 1);

	return n == 0 ? -ENODATA : result_of(n);
}

int try_write(const char *path, int flags, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);

	return fd < 0 ? -errno : result_of(write(fd, text, strlen(text)));
}

/* In a child, so that one that is killed for trying, or changes what it is, does not end the others. */
static void try_one(const struct attempt *attempt, int *result)
{
	pid_t child;
	int status = 0;

	*result = NO_RESULT;
	child = fork();
	if (child == 0) {
		(void)alarm(DEADLINE_S);
		*result = attempt->run();
		_exit(0);
	}
	(void)waitpid(child, &status, 0);
	if (*result == NO_RESULT && WIFSIGNALED(status))
		(void)printf("%s SIG%s\n", attempt->name, sigabbrev_np(WTERMSIG(status)));
	else if (*result == 0)
		(void)printf("%s works\n", attempt->name);
	else
		(void)printf("%s %s\n", attempt->name, *result < 0 ? strerrorname_np(-*result) : "silent");
	(void)fflush(stdout);
}

static int try_all(void)
{
	int *result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (result == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		for (const struct attempt *attempt = subjects[i]; attempt->name; attempt++)
			if (attempt->harms && !getenv("ESCAPE_HARM"))
				(void)printf("%s untried\n", attempt->name);
			else
				try_one(attempt, result);
	return 0;
}

static int list(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		for (const struct attempt *attempt = subjects[i]; attempt->name; attempt++)
			(void)printf("%s\t%s\n", attempt->name, attempt->gives);
	return 0;
}

static int be_victim(void)
{
	static char secret[] = VICTIM_SECRET;
	int fd = open(outside("secret"), O_RDONLY | O_CLOEXEC);

	/* Yama, where it is on, is no layer of ours. */
	if (fd < 0 || dup2(fd, VICTIM_FD) < 0 || (prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0) < 0 && errno != EINVAL))
		return 1;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)printf("%d %" PRIuPTR "\n", getpid(), (uintptr_t)secret);
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}

int main(int argc, char *argv[])
{
	if (argc == 2 && strcmp(argv[1], "list") == 0)
		return list();
	if (argc == 2 && strcmp(argv[1], "victim") == 0)
		return be_victim();
	return argc == 1 ? try_all() : 2;
}
