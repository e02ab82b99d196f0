/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other reached_step(): what the crash tests' helper and init link instead of base/reached.c.
 *
 * Runs wherever set-up runs, as root and as init, in programs that only tests start. What is to
 * happen stands in a file that the test maps as well (YETT_TEST_FAULTS): every process forked from
 * the helper sees it, whatever file system it has. init has it by a descriptor, which the process
 * that becomes it leaves open.
 */
#include "base/reached.h"
#include "base/fd.h"
#include "tests/support/faults.h"

#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>

#define INIT_FD 900

/* Made before main(), so that no code of the program's knows of it. NULL: not asked for. */
static struct faults *faults;

static void __attribute__((constructor)) open_faults(void)
{
	const char *path = getenv("YETT_TEST_FAULTS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : fcntl(INIT_FD, F_GETFD) < 0 ? -1 : INIT_FD;

	if (fd < 0)
		return;
	faults = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (faults == MAP_FAILED)
		abort();
	if (path)
		(void)close(fd);
	else
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* The descriptor for init: opened while the host's files are in sight, left open when all others
 * have been closed. */
static void hand_to_init(const char *name)
{
	int fd = strcmp(name, "leaver:leave") == 0
	                 ? open(getenv("YETT_TEST_FAULTS"), O_RDWR | O_CLOEXEC)
	                 : -1;

	if (fd >= 0) {
		(void)dup3(fd, INIT_FD, O_CLOEXEC);
		(void)close(fd);
	}
	if (strcmp(name, "leaver:init") == 0)
		(void)fcntl(INIT_FD, F_SETFD, 0);
}

static void record(const char *name)
{
	unsigned at = atomic_fetch_add(&faults->log_count, 1);

	if (at < FAULTS_LOG_SIZE)
		(void)snprintf(faults->log[at], FAULTS_NAME_SIZE, "%s", name);
}

/*
 * The pid that the test knows this process by. It is looked up at the first step that a process
 * reaches, while /proc is still the host's: in a pid namespace getpid(2) tells another.
 */
static pid_t outer_pid(void)
{
	static pid_t inner, outer;
	char text[16];
	ssize_t n;

	if (inner == getpid())
		return outer;
	n = readlink("/proc/self", text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	inner = getpid();
	outer = getpid() == 1 ? 0 : (pid_t)strtol(text, NULL, 10);
	return outer;
}

/*
 * Until the test has done what it wants to. A stop signal would not do: PID 1 of a namespace cannot
 * send itself one. Where no /proc tells our pid outside, it is who holds a lock of the file:
 * F_GETLK of fcntl_locking(2).
 */
static void hold(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_len = 1};

	faults->pid = outer_pid();
	if (faults->pid == 0)
		(void)fcntl(INIT_FD, F_SETLK, &lock);
	atomic_store(&faults->reached, 1);
	while (!atomic_load(&faults->go))
		(void)poll(NULL, 0, 1);
	atomic_store(&faults->reached, 2);
}

int reached_step(const char *process, const char *step)
{
	char name[FAULTS_NAME_SIZE];

	if (!faults)
		return 0;
	(void)outer_pid();
	(void)snprintf(name, sizeof name, "%s:%s", process, step);
	hand_to_init(name);
	if (faults->is_recording)
		record(name);
	if (faults->action == ACTION_NONE || strcmp(name, faults->name) != 0 ||
	    atomic_fetch_sub(&faults->armed, 1) != 1)
		return 0;
	if (faults->action == ACTION_FAIL) {
		atomic_store(&faults->reached, 1);
		return -faults->error;
	}
	hold();
	return 0;
}
