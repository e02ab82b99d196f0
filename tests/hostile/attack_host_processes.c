/* SPDX-License-Identifier: Apache-2.0 */
/* See attack.h: what is done to a process of the host, by its number there. */
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static pid_t victim(void)
{
	return (pid_t)given_number("ATTACK_VICTIM");
}

static int victim_pidfd(void)
{
	return (int)syscall(SYS_pidfd_open, victim(), 0);
}

/* It does not run anyway. */
static int send_signal(void)
{
	return result_of(kill(victim(), SIGCONT));
}

static int send_signal_by_pidfd(void)
{
	_cleanup_fd_ int pidfd = victim_pidfd();

	return pidfd < 0 ? -errno
	                 : result_of(syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0));
}

static int trace(void)
{
	return result_of(ptrace(PTRACE_SEIZE, victim(), NULL, NULL));
}

static int move_memory(bool is_write)
{
	char text[] = VICTIM_SECRET;
	struct iovec local = {text, sizeof text},
		     remote = {(void *)given_number("ATTACK_ADDRESS"), sizeof text};
	ssize_t n;

	if (is_write)
		return result_of(process_vm_writev(victim(), &local, 1, &remote, 1, 0));
	memset(text, 0, sizeof text);
	n = process_vm_readv(victim(), &local, 1, &remote, 1, 0);
	return n < 0 ? -errno : strcmp(text, VICTIM_SECRET) == 0 ? 0 : -ENODATA;
}

static int read_memory(void)
{
	return move_memory(false);
}

static int write_memory(void)
{
	return move_memory(true);
}

static int read_memory_file(void)
{
	_cleanup_fd_ int fd = open(victim_file("mem"), O_RDONLY | O_CLOEXEC);
	char text[sizeof VICTIM_SECRET];

	if (fd < 0 || pread(fd, text, sizeof text, given_number("ATTACK_ADDRESS")) < 0)
		return -errno;
	return strcmp(text, VICTIM_SECRET) == 0 ? 0 : -ENODATA;
}

static int read_environment(void)
{
	return try_read(victim_file("environ"));
}

static int read_arguments(void)
{
	return try_read(victim_file("cmdline"));
}

static int take_descriptor(void)
{
	_cleanup_fd_ int pidfd = victim_pidfd();
	_cleanup_fd_ int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, VICTIM_FD, 0);
	char byte;

	return fd < 0 ? -errno : result_of(pread(fd, &byte, 1, 0));
}

static int through_root(void)
{
	_cleanup_fd_ int root = open(victim_file("root"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int fd =
		root < 0 ? -1 : openat(root, outside("secret") + 1, O_RDONLY | O_CLOEXEC);
	char byte;

	return fd < 0 ? -errno : result_of(read(fd, &byte, 1));
}

static int join_mounts(void)
{
	_cleanup_fd_ int fd = open(victim_file("ns/mnt"), O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : result_of(setns(fd, CLONE_NEWNS));
}

static int set_limit(void)
{
	struct rlimit limit;

	if (prlimit(victim(), RLIMIT_CORE, NULL, &limit) < 0)
		return -errno;
	return result_of(prlimit(victim(), RLIMIT_CORE, &limit, NULL));
}

static int set_priority(void)
{
	return result_of(setpriority(PRIO_PROCESS, (id_t)victim(), 0));
}

static int choose_for_oom(void)
{
	return try_write(victim_file("oom_score_adj"), 0, "0");
}

static int go_first(void)
{
	return result_of(setpriority(PRIO_PROCESS, 0, -10));
}

static int real_time(void)
{
	return result_of(
		sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){.sched_priority = 1}));
}

const struct attack attack_host_processes[] = {
	{"signal", ATTACK_COMMAND | ATTACK_LAYER, false, .run = send_signal},
	{"signal-by-pidfd", ATTACK_LAYER, false, .run = send_signal_by_pidfd},
	{"trace", ATTACK_LAYER, false, .run = trace},
	{"memory-read", ATTACK_LAYER, false, .run = read_memory},
	{"memory-write", ATTACK_LAYER, false, .run = write_memory},
	{"memory-by-proc", ATTACK_LAYER, false, .run = read_memory_file},
	{"environment", ATTACK_LAYER, false, .run = read_environment},
	{"arguments", ATTACK_LAYER, false, .run = read_arguments},
	{"descriptor-taken", ATTACK_LAYER, false, .run = take_descriptor},
	{"root-of-process", ATTACK_LAYER, false, .run = through_root},
	{"mounts-of-process", ATTACK_LAYER, false, .run = join_mounts},
	{"limits-of-process", ATTACK_LAYER, false, .run = set_limit},
	{"priority-of-process", ATTACK_LAYER, false, .run = set_priority},
	{"oom-victim", ATTACK_LAYER, false, .run = choose_for_oom},
	{"priority-raised", ATTACK_COMMAND | ATTACK_LAYER, false, .run = go_first},
	{"real-time", ATTACK_COMMAND | ATTACK_LAYER, false, .run = real_time},
	{0},
};
