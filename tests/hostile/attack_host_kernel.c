/* SPDX-License-Identifier: Apache-2.0 */
/* See attack.h: the kernel's own files, by which the machine is seen and steered. */
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

static int try_open(const char *path)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return result_of(fd);
}

/* Writes something else, and then what was there. */
static int try_setting(const char *path, const char *text)
{
	char before[256] = "";
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, before, sizeof before - 1);
	int r = n < 0 ? -errno : may_harm() ? try_write(path, 0, text) : try_open(path);

	return r == 0 && may_harm() ? try_write(path, 0, before) : r;
}

static int core_pattern(void)
{
	return try_setting("/proc/sys/kernel/core_pattern", "|/tmp/yett-attack");
}

static int module_helper(void)
{
	return try_setting("/proc/sys/kernel/modprobe", "/tmp/yett-attack");
}

static int swappiness(void)
{
	return try_setting("/proc/sys/vm/swappiness", "1");
}

/* h: the kernel's log gets a help text. What lies over the file in a sandbox takes any text, if one
 * may write there. */
static int sysrq(void)
{
	_cleanup_fd_ int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	return fs.f_type != PROC_SUPER_MAGIC ? -ENODEV
	       : may_harm()                  ? result_of(write(fd, "h", 1))
	                                     : 0;
}

static int device_setting(void)
{
	return try_setting(given("ATTACK_SYSFS"), "64");
}

static int kernel_memory(void)
{
	return try_read("/proc/kcore");
}

/* Who may not know gets zeros; a few symbols are at 0 for everybody. */
static int kernel_symbols(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long address = 0;

	if (!file)
		return -errno;
	for (int i = 0; i < 2000 && address == 0 && fscanf(file, "%lx %*[^\n]", &address) == 1; i++)
		;
	(void)fclose(file);
	return address != 0 ? 0 : -EACCES;
}

static int kernel_log(void)
{
	char text[256];

	return result_of(klogctl(3 /* SYSLOG_ACTION_READ_ALL */, text, sizeof text));
}

static int kernel_log_device(void)
{
	_cleanup_fd_ int fd = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char text[8192];

	return fd < 0 ? -errno : result_of(read(fd, text, sizeof text));
}

static int physical_memory(void)
{
	return may_harm() ? try_read("/dev/mem") : try_open("/dev/mem");
}

/* The child goes into a group of its own below the root, where no limit is, and then back, so that
 * the group can go. */
static int leave_cgroup(void)
{
	static const char group[] = "/sys/fs/cgroup/yett-attack";
	int r = result_of(mkdir(group, 0755)), status = 0;
	pid_t child;

	if (r < 0)
		return r;
	child = fork();
	if (child == 0)
		_exit(-try_write("/sys/fs/cgroup/yett-attack/cgroup.procs", 0, "0"));
	(void)waitpid(child, &status, 0);
	(void)rmdir(group);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

const struct attack attack_host_kernel[] = {
	{"core-pattern", ATTACK_COMMAND | ATTACK_LAYER, true, .run = core_pattern},
	{"module-helper", ATTACK_COMMAND | ATTACK_LAYER, true, .run = module_helper},
	{"kernel-setting", ATTACK_LAYER, true, .run = swappiness},
	{"sysrq", ATTACK_COMMAND | ATTACK_LAYER, true, .run = sysrq},
	{"device-setting", ATTACK_LAYER, true, .run = device_setting},
	{"kernel-memory", ATTACK_COMMAND | ATTACK_LAYER, false, .run = kernel_memory},
	{"kernel-addresses", ATTACK_LAYER, false, .run = kernel_symbols},
	{"kernel-log", ATTACK_COMMAND | ATTACK_LAYER, false, .run = kernel_log},
	{"kernel-log-device", ATTACK_COMMAND | ATTACK_LAYER, false, .run = kernel_log_device},
	{"physical-memory", ATTACK_COMMAND | ATTACK_LAYER, true, .run = physical_memory},
	{"cgroup-left", ATTACK_LAYER, true, .run = leave_cgroup},
	{0},
};
