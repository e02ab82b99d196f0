/* See escape.h: the kernel's own files, by which the machine is seen and steered. */
#include "tests/guest/escape.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

/* Writes something else, and then what was there. */
static int try_setting(const char *path, const char *text)
{
	char before[256] = "";
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, before, sizeof before - 1);
	int r = n < 0 ? -errno : try_write(path, 0, text);

	return r == 0 ? try_write(path, 0, before) : r;
}

static int core_pattern(void)
{
	return try_setting("/proc/sys/kernel/core_pattern", "|/tmp/yett-escape");
}

static int module_helper(void)
{
	return try_setting("/proc/sys/kernel/modprobe", "/tmp/yett-escape");
}

static int swappiness(void)
{
	return try_setting("/proc/sys/vm/swappiness", "1");
}

/* h: the kernel's log gets a help text. What lies over the file in a sandbox takes any text, if one may write there. */
static int sysrq(void)
{
	_cleanup_fd_ int fd = open("/proc/sysrq-trigger", O_WRONLY | O_CLOEXEC);
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	return fs.f_type == PROC_SUPER_MAGIC ? result_of(write(fd, "h", 1)) : -ENODEV;
}

static int device_setting(void)
{
	return try_setting(given("ESCAPE_SYSFS"), "64");
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
	return try_read("/dev/mem");
}

/* The child goes into a group of its own below the root, where no limit is, and then back, so that the group can go. */
static int leave_cgroup(void)
{
	static const char group[] = "/sys/fs/cgroup/yett-escape";
	int r = result_of(mkdir(group, 0755)), status = 0;
	pid_t child;

	if (r < 0)
		return r;
	child = fork();
	if (child == 0)
		_exit(-try_write("/sys/fs/cgroup/yett-escape/cgroup.procs", 0, "0"));
	(void)waitpid(child, &status, 0);
	(void)rmdir(group);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EINTR;
}

const struct attempt escape_host[] = {
	{"core-pattern", "code that the kernel runs as root when a program crashes", true, core_pattern},
	{"module-helper", "code that the kernel runs as root when it wants a module", true, module_helper},
	{"kernel-setting", "how the machine behaves", true, swappiness},
	{"sysrq", "the kernel's emergency keys", true, sysrq},
	{"device-setting", "how devices behave", true, device_setting},
	{"kernel-memory", "all that the kernel knows", false, kernel_memory},
	{"kernel-addresses", "where the kernel's code is, for an exploit", false, kernel_symbols},
	{"kernel-log", "what the kernel tells administrators", false, kernel_log},
	{"kernel-log-device", "the same, as a device", false, kernel_log_device},
	{"physical-memory", "all that anybody knows", true, physical_memory},
	{"cgroup-left", "to be free of all limits", true, leave_cgroup},
	{0},
};
