/* See attack.h: what one process does to another that is not its own. Inside, the other one is PID 1. */
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
	return attack_result(kill(victim(), (int)signal));
}

static int thread_signal(long signal)
{
	pid_t pid = victim();

	return attack_result(syscall(SYS_tgkill, pid, pid, signal));
}

static int queue_signal(long signal)
{
	return attack_result(sigqueue(victim(), (int)signal, (union sigval){0}));
}

static int pidfd_of_victim(void)
{
	return (int)syscall(SYS_pidfd_open, victim(), 0);
}

static int pidfd_signal(long signal)
{
	return attack_result(syscall(SYS_pidfd_send_signal, pidfd_of_victim(), signal, NULL, 0));
}

static int trace(long request)
{
	return attack_result(ptrace((enum __ptrace_request)request, victim(), NULL, NULL));
}

static int limit(long resource)
{
	struct rlimit limit;

	if (getrlimit((__rlimit_resource_t)resource, &limit) < 0)
		return -errno;
	limit.rlim_cur = 0;
	return attack_result(prlimit(victim(), (enum __rlimit_resource)resource, &limit, NULL));
}

static int priority(long value)
{
	return attack_result(setpriority(PRIO_PROCESS, (id_t)victim(), (int)value));
}

static int affinity(long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return attack_result(sched_setaffinity(victim(), sizeof set, &set));
}

static int scheduler(long policy)
{
	return attack_result(sched_setscheduler(victim(), (int)policy, &(struct sched_param){0}));
}

static int io_priority(long value)
{
	return attack_result(syscall(SYS_ioprio_set, 1, victim(), value));
}

static int memory(long write)
{
	static char here[16], there[16]; /* at the same place in a child that was forked */
	struct iovec local = {here, sizeof here}, remote = {there, sizeof there};

	return attack_result(write ? process_vm_writev(victim(), &local, 1, &remote, 1, 0)
				   : process_vm_readv(victim(), &local, 1, &remote, 1, 0));
}

static int steal_descriptor(long fd)
{
	return attack_result(syscall(SYS_pidfd_getfd, pidfd_of_victim(), fd, 0));
}

static int compare(long fd)
{
	return attack_result(syscall(SYS_kcmp, getpid(), victim(), KCMP_FILE, fd, fd));
}

static int advise(long advice)
{
	static char here[4096] __attribute__((aligned(4096)));
	struct iovec range = {here, sizeof here};

	return attack_result(syscall(SYS_process_madvise, pidfd_of_victim(), &range, 1, advice, 0));
}

static int open_proc(const char *file, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/%s", victim(), file);
	return open(path, flags | O_CLOEXEC);
}

enum proc_file { PROC_MEM, PROC_ENVIRON, PROC_MAPS, PROC_FD, PROC_ROOT, PROC_EXE, PROC_CWD, PROC_SYSCALL, PROC_NS, PROC_AUXV, PROC_OOM };

static int look(long which)
{
	static const struct {
		const char *file;
		int flags;
	} files[] = {
		[PROC_MEM] = {"mem", O_RDWR},		[PROC_ENVIRON] = {"environ", O_RDONLY}, [PROC_MAPS] = {"maps", O_RDONLY},
		[PROC_FD] = {"fd", O_RDONLY},		[PROC_ROOT] = {"root/", O_RDONLY},	[PROC_EXE] = {"exe", O_RDONLY},
		[PROC_CWD] = {"cwd/", O_RDONLY},	[PROC_SYSCALL] = {"syscall", O_RDONLY}, [PROC_NS] = {"ns/mnt", O_RDONLY},
		[PROC_AUXV] = {"auxv", O_RDONLY},	[PROC_OOM] = {"oom_score_adj", O_WRONLY},
	};
	int fd = open_proc(files[which].file, files[which].flags);
	char byte;

	/* some are checked when they are read */
	if (fd >= 0 && (which == PROC_SYSCALL || which == PROC_ENVIRON || which == PROC_AUXV || which == PROC_MAPS))
		return attack_result(read(fd, &byte, 1));
	return attack_result(fd);
}

/* A process of the host, by its number there. */
static int signal_host(long signal)
{
	return attack_result(kill((pid_t)strtol(getenv("ATTACK_HOST_PID"), NULL, 10), (int)signal));
}

const struct attack attack_processes[] = {
	{"kill", send_signal, SIGKILL},
	{"stop", send_signal, SIGSTOP},
	{"tgkill", thread_signal, SIGTERM},
	{"sigqueue", queue_signal, SIGTERM},
	{"pidfd_send_signal", pidfd_signal, SIGTERM},
	{"ptrace-attach", trace, PTRACE_ATTACH},
	{"ptrace-seize", trace, PTRACE_SEIZE},
	{"prlimit-nofile", limit, RLIMIT_NOFILE},
	{"prlimit-cpu", limit, RLIMIT_CPU},
	{"setpriority", priority, 10},
	{"sched_setaffinity", affinity, 0},
	{"sched_setscheduler", scheduler, SCHED_IDLE},
	{"ioprio_set", io_priority, 3 << 13},
	{"process_vm_readv", memory, 0},
	{"process_vm_writev", memory, 1},
	{"pidfd_getfd", steal_descriptor, 0},
	{"kcmp", compare, 0},
	{"process_madvise", advise, MADV_COLD},
	{"proc-mem", look, PROC_MEM},
	{"proc-environ", look, PROC_ENVIRON},
	{"proc-maps", look, PROC_MAPS},
	{"proc-fd", look, PROC_FD},
	{"proc-root", look, PROC_ROOT},
	{"proc-exe", look, PROC_EXE},
	{"proc-cwd", look, PROC_CWD},
	{"proc-syscall", look, PROC_SYSCALL},
	{"proc-ns", look, PROC_NS},
	{"proc-auxv", look, PROC_AUXV},
	{"proc-oom-score", look, PROC_OOM},
	{"signal-host-pid", signal_host, 0},
	{0},
};
