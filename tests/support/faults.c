/*
 * The other setup_step_reached(): what the crash tests' helper links instead of helper/setup/reached.c.
 *
 * Runs wherever set-up runs, as root, in a helper that only tests start. What is to happen stands in a file that the
 * test maps as well (YETT_TEST_FAULTS): every process forked from the helper sees it, whatever file system it has.
 */
#include "helper/setup/steps.h"

#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define NAME_SIZE 64
#define LOG_SIZE  256

enum action { ACTION_NONE, ACTION_HOLD, ACTION_FAIL };

/* tests/hostile/test_crash.py has the same layout. */
struct faults {
	char name[NAME_SIZE]; /* "process:step" */
	uint32_t action;
	int32_t error;
	atomic_uint armed, reached, go; /* armed: 1 is the next time it is reached; reached: 1 at the step, 2 past it */
	int32_t pid;
	uint32_t is_recording;
	atomic_uint log_count;
	char log[LOG_SIZE][NAME_SIZE];
};

/* Made before main(), so that no code of the helper's knows of it. NULL: not asked for. */
static struct faults *faults;

static void __attribute__((constructor)) open_faults(void)
{
	const char *path = getenv("YETT_TEST_FAULTS");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	faults = mmap(NULL, sizeof *faults, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (faults == MAP_FAILED)
		abort();
	(void)close(fd);
}

static void record(const char *name)
{
	unsigned at = atomic_fetch_add(&faults->log_count, 1);

	if (at < LOG_SIZE)
		(void)snprintf(faults->log[at], NAME_SIZE, "%s", name);
}

/*
 * The pid that the test knows this process by. It is looked up at the first step that a process reaches, while /proc is
 * still the host's: in a pid namespace getpid(2) tells another.
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
	outer = (pid_t)strtol(text, NULL, 10);
	return outer;
}

/* Until the test has done what it wants to. A stop signal would not do: PID 1 of a namespace cannot send itself one. */
static void hold(void)
{
	faults->pid = outer_pid();
	atomic_store(&faults->reached, 1);
	while (!atomic_load(&faults->go))
		(void)poll(NULL, 0, 1);
	atomic_store(&faults->reached, 2);
}

int setup_step_reached(const char *process, const char *step)
{
	char name[NAME_SIZE];

	if (!faults)
		return 0;
	(void)outer_pid();
	(void)snprintf(name, sizeof name, "%s:%s", process, step);
	if (faults->is_recording)
		record(name);
	if (faults->action == ACTION_NONE || strcmp(name, faults->name) != 0 || atomic_fetch_sub(&faults->armed, 1) != 1)
		return 0;
	if (faults->action == ACTION_FAIL) {
		atomic_store(&faults->reached, 1);
		return -faults->error;
	}
	hold();
	return 0;
}
