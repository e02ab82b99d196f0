/* SPDX-License-Identifier: Apache-2.0 */
/* See attack.h: what one process does to another that is not its own. Inside, the other one is
 * PID 1. */
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

static pid_t victim(void)
{
	const char *pid = getenv("ATTACK_PID");
	pid_t child;
	int ready[2];
	char byte;

	if (pid)
		return (pid_t)strtol(pid, NULL, 10);
	if (pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	child = fork();
	if (child == 0) {
		/* before anything is done to it, or one that was stopped would stay */
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		(void)!write(ready[1], "", 1);
		for (;;)
			(void)pause();
	}
	(void)!read(ready[0], &byte, 1);
	return child;
}

static int send_signal(long signal)
{
	return result_of(kill(victim(), (int)signal));
}

static int thread_signal(long signal)
{
	pid_t pid = victim();

	return result_of(syscall(SYS_tgkill, pid, pid, signal));
}

static int queue_signal(long signal)
{
	return result_of(sigqueue(victim(), (int)signal, (union sigval){0}));
}

static int pidfd_of_victim(void)
{
	return (int)syscall(SYS_pidfd_open, victim(), 0);
}

static int pidfd_signal(long signal)
{
	return result_of(syscall(SYS_pidfd_send_signal, pidfd_of_victim(), signal, NULL, 0));
}

static int trace(long request)
{
	return result_of(ptrace((enum __ptrace_request)request, victim(), NULL, NULL));
}

static int limit(long resource)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return -errno;
	limit.rlim_cur = 0;
	return result_of(prlimit(victim(), (enum __rlimit_resource)resource, &limit, NULL));
}

static int priority(long value)
{
	return result_of(setpriority(PRIO_PROCESS, (id_t)victim(), (int)value));
}

static int affinity(long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return result_of(sched_setaffinity(victim(), sizeof set, &set));
}

static int scheduler(long policy)
{
	return result_of(sched_setscheduler(victim(), (int)policy, &(struct sched_param){0}));
}

static int io_priority(long value)
{
	return result_of(syscall(SYS_ioprio_set, 1, victim(), value));
}

static int memory(long write)
{
	static char here[16], there[16]; /* at the same place in a child that was forked */
	struct iovec local = {here, sizeof here}, remote = {there, sizeof there};

	return result_of(write ? process_vm_writev(victim(), &local, 1, &remote, 1, 0)
	                       : process_vm_readv(victim(), &local, 1, &remote, 1, 0));
}

static int steal_descriptor(long fd)
{
	return result_of(syscall(SYS_pidfd_getfd, pidfd_of_victim(), fd, 0));
}

static int compare(long fd)
{
	return result_of(syscall(SYS_kcmp, getpid(), victim(), KCMP_FILE, fd, fd));
}

static int advise(long advice)
{
	static char here[4096] __attribute__((aligned(4096)));
	struct iovec range = {here, sizeof here};

	return result_of(syscall(SYS_process_madvise, pidfd_of_victim(), &range, 1, advice, 0));
}

static int open_proc(const char *file, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/%s", victim(), file);
	return open(path, flags | O_CLOEXEC);
}

enum proc_file {
	PROC_MEM,
	PROC_ENVIRON,
	PROC_MAPS,
	PROC_FD,
	PROC_ROOT,
	PROC_EXE,
	PROC_CWD,
	PROC_SYSCALL,
	PROC_NS,
	PROC_AUXV,
	PROC_OOM
};

static int look(long which)
{
	static const struct {
		const char *file;
		int flags;
	} files[] = {
		[PROC_MEM] = {"mem", O_RDWR},
		[PROC_ENVIRON] = {"environ", O_RDONLY},
		[PROC_MAPS] = {"maps", O_RDONLY},
		[PROC_FD] = {"fd", O_RDONLY},
		[PROC_ROOT] = {"root/", O_RDONLY},
		[PROC_EXE] = {"exe", O_RDONLY},
		[PROC_CWD] = {"cwd/", O_RDONLY},
		[PROC_SYSCALL] = {"syscall", O_RDONLY},
		[PROC_NS] = {"ns/mnt", O_RDONLY},
		[PROC_AUXV] = {"auxv", O_RDONLY},
		[PROC_OOM] = {"oom_score_adj", O_WRONLY},
	};
	int fd = open_proc(files[which].file, files[which].flags);
	char byte;

	/* some are checked when they are read */
	if (fd >= 0 && (which == PROC_SYSCALL || which == PROC_ENVIRON || which == PROC_AUXV ||
	                which == PROC_MAPS))
		return result_of(read(fd, &byte, 1));
	return result_of(fd);
}

const struct attack attack_processes[] = {
#define ROW(text, function, value)                                            \
	{                                                                     \
		text, ATTACK_COMMAND, .run_with = function, .argument = value \
	}
	ROW("kill", send_signal, SIGKILL),
	ROW("stop", send_signal, SIGSTOP),
	ROW("tgkill", thread_signal, SIGTERM),
	ROW("sigqueue", queue_signal, SIGTERM),
	ROW("pidfd_send_signal", pidfd_signal, SIGTERM),
	ROW("ptrace-attach", trace, PTRACE_ATTACH),
	ROW("ptrace-seize", trace, PTRACE_SEIZE),
	ROW("prlimit-nofile", limit, RLIMIT_NOFILE),
	ROW("prlimit-cpu", limit, RLIMIT_CPU),
	ROW("setpriority", priority, 10),
	ROW("sched_setaffinity", affinity, 0),
	ROW("sched_setscheduler", scheduler, SCHED_IDLE),
	ROW("ioprio_set", io_priority, 3 << 13),
	ROW("process_vm_readv", memory, 0),
	ROW("process_vm_writev", memory, 1),
	ROW("pidfd_getfd", steal_descriptor, 0),
	ROW("kcmp", compare, 0),
	ROW("process_madvise", advise, MADV_COLD),
	ROW("proc-mem", look, PROC_MEM),
	ROW("proc-environ", look, PROC_ENVIRON),
	ROW("proc-maps", look, PROC_MAPS),
	ROW("proc-fd", look, PROC_FD),
	ROW("proc-root", look, PROC_ROOT),
	ROW("proc-exe", look, PROC_EXE),
	ROW("proc-cwd", look, PROC_CWD),
	ROW("proc-syscall", look, PROC_SYSCALL),
	ROW("proc-ns", look, PROC_NS),
	ROW("proc-auxv", look, PROC_AUXV),
	ROW("proc-oom-score", look, PROC_OOM),
	{0},
};
