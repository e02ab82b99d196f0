/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See attack.h. attack GROUP    runs those of "command", "layer" or "builder": a line "NAME RESULT"
 * for each, "works", the name of an errno or of a signal, or "untried" for what harms the machine,
 * unless $ATTACK_HARM is set attack list     a line "NAME GROUP…" for each attack victim   a
 * process to be attacked: prints "PID ADDRESS" and waits attack capable  exits with 0 if it has
 * CAP_SYS_ADMIN, else with 1
 */
#include "tests/hostile/attack.h"
#include "tests/support/waiting.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NO_RESULT 1

static const struct attack *const subjects[] = {
	attack_processes,  attack_kernel,      attack_files,          attack_sockets,
	attack_host_files, attack_host_kernel, attack_host_processes, attack_machine,
	attack_ipc,        attack_building};

static const struct {
	const char *name;
	unsigned group;
} groups[] = {{"command", ATTACK_COMMAND}, {"layer", ATTACK_LAYER}, {"builder", ATTACK_BUILDER}};

const char *given(const char *variable)
{
	const char *value = getenv(variable);

	if (!value) {
		(void)fprintf(stderr, "attack: $%s is missing\n", variable);
		abort();
	}
	return value;
}

long given_number(const char *variable)
{
	return strtol(given(variable), NULL, 0);
}

bool may_harm(void)
{
	return getenv("ATTACK_HARM");
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
	return join(given("ATTACK_OUTSIDE"), name);
}

const char *shared(const char *name)
{
	return join(given("ATTACK_DIR"), name);
}

const char *victim_file(const char *name)
{
	char directory[32];

	(void)snprintf(directory, sizeof directory, "/proc/%ld", given_number("ATTACK_VICTIM"));
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

/* Where mounting works it must not reach the others, nor the host. A layer alone is not to be
 * hidden by namespaces of our own making. */
static void live_apart(unsigned group)
{
	if (group != ATTACK_LAYER && unshare(CLONE_NEWNS) == 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		_exit(1);
}

/* In a child, so that one that is killed for trying, or changes what it is, does not end the
 * others. */
static void try_one(const struct attack *attack, unsigned group, int *result)
{
	pid_t child;
	int status = 0;

	*result = NO_RESULT;
	child = fork();
	if (child == 0) {
		/* One that hangs ends before the program is given up. Nothing is expected to take
		 * long. */
		(void)alarm((unsigned)waiting_deadline_ms() / 1000 / 2);
		live_apart(group);
		*result = attack->run ? attack->run() : attack->run_with(attack->argument);
		_exit(0);
	}
	(void)waitpid(child, &status, 0);
	if (*result == NO_RESULT && WIFSIGNALED(status))
		(void)printf("%s SIG%s\n", attack->name, sigabbrev_np(WTERMSIG(status)));
	else if (*result == 0)
		(void)printf("%s works\n", attack->name);
	else
		(void)printf("%s %s\n", attack->name,
		             *result < 0 ? strerrorname_np(-*result) : "silent");
	(void)fflush(stdout);
}

static int try_all(unsigned group)
{
	int *result = mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
	                   -1, 0);

	if (result == MAP_FAILED)
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		for (const struct attack *attack = subjects[i]; attack->name; attack++)
			if (!(attack->groups & group))
				continue;
			else if (attack->harms && group == ATTACK_LAYER && !may_harm())
				(void)printf("%s untried\n", attack->name);
			else
				try_one(attack, group, result);
	return 0;
}

static int list(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(subjects); i++)
		for (const struct attack *attack = subjects[i]; attack->name; attack++) {
			(void)printf("%s", attack->name);
			for (size_t j = 0; j < ARRAY_SIZE(groups); j++)
				(void)printf("%s%s", attack->groups & groups[j].group ? " " : "",
				             attack->groups & groups[j].group ? groups[j].name
				                                              : "");
			(void)printf("%s\n", attack->harms ? " harms" : "");
		}
	return 0;
}

static int be_victim(void)
{
	static char secret[] = VICTIM_SECRET;
	int fd = open(outside("secret"), O_RDONLY | O_CLOEXEC);

	/* Yama, where it is on, is no layer of ours. */
	if (fd < 0 || dup2(fd, VICTIM_FD) < 0 ||
	    (prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0) < 0 && errno != EINVAL))
		return 1;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	(void)printf("%d %" PRIuPTR "\n", getpid(), (uintptr_t)secret);
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}

static bool is_capable(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];

	return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & 1U << CAP_SYS_ADMIN);
}

int main(int argc, char *argv[])
{
	for (size_t i = 0; argc == 2 && i < ARRAY_SIZE(groups); i++)
		if (strcmp(argv[1], groups[i].name) == 0)
			return try_all(groups[i].group);
	if (argc == 2 && strcmp(argv[1], "list") == 0)
		return list();
	if (argc == 2 && strcmp(argv[1], "capable") == 0)
		return is_capable() ? 0 : 1;
	return argc == 2 && strcmp(argv[1], "victim") == 0 ? be_victim() : 2;
}
