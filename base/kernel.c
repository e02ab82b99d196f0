/* SPDX-License-Identifier: Apache-2.0 */
/* See kernel.h. */
#include "base/kernel.h"

#include <sys/wait.h>

bool kernel_wait_end(pid_t pid, int timeout_ms)
{
	_cleanup_fd_ int pidfd = kernel_pidfd_open(pid);
	int n = 1;

	while (pidfd >= 0 && (n = fd_poll(pidfd, POLLIN, timeout_ms)) < 0 && errno == EINTR)
		;
	return n > 0;
}

int kernel_mount_new(const char *type, const char *const *options, const char *label,
                     unsigned mount_attributes)
{
	_cleanup_fd_ int context = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (context < 0)
		return -errno;
	for (; options && options[0]; options += 2) {
		unsigned command = options[1] ? FSCONFIG_SET_STRING : FSCONFIG_SET_FLAG;

		if (fsconfig(context, command, options[0], options[1], 0) < 0)
			return -errno;
	}
	if (*label && fsconfig(context, FSCONFIG_SET_STRING, "context", label, 0) < 0)
		return -errno;
	if (fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	fd = fsmount(context, FSMOUNT_CLOEXEC, mount_attributes);
	return fd < 0 ? -errno : fd;
}

int kernel_write_file(int dir, const char *name, const char *text)
{
	_cleanup_fd_ int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	size_t length = strlen(text);

	if (fd < 0)
		return -errno;
	if (write(fd, text, length) != (ssize_t)length)
		return errno ? -errno : -EIO;
	return 0;
}

ssize_t kernel_read_file(int dir, const char *name, char *buffer, size_t size)
{
	_cleanup_fd_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, buffer, size - 1);
	if (n < 0)
		return -errno;
	buffer[n] = '\0';
	return n;
}

int kernel_open_userns_of(int proc, pid_t pid, const char *uid_map, const char *gid_map)
{
	char path[32];
	int fd, r;

	FORMAT(path, "%d/uid_map", pid);
	r = kernel_write_file(proc, path, uid_map);
	FORMAT(path, "%d/gid_map", pid);
	if (r == 0)
		r = kernel_write_file(proc, path, gid_map);
	if (r < 0)
		return r;
	FORMAT(path, "%d/ns/user", pid);
	fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

struct holder {
	/* A pipe: a byte means that the maps are written, end of file that the parent gave up. */
	int ends[2];
	int proc;
	int (*inside)(int proc);
};

/*
 * Runs in the child, which shares the parent's memory (CLONE_VM) and has a separate stack: a copy
 * of the page tables would cost more than everything else here.
 */
static int hold_userns(void *argument)
{
	const struct holder *holder = argument;
	char byte;

	/* Otherwise this process would never see end of file if the parent dies. */
	(void)close(holder->ends[1]);
	if (read(holder->ends[0], &byte, 1) != 1 || !holder->inside)
		return 0;
	return holder->inside(holder->proc) < 0;
}

int kernel_open_userns(int proc, const char *uid_map, const char *gid_map, int (*inside)(int proc))
{
	char stack[16384] __attribute__((aligned(16)));
	struct holder holder = {.proc = proc, .inside = inside};
	int status = 0, fd;
	bool is_reported;
	pid_t pid;

	if (pipe2(holder.ends, O_CLOEXEC) < 0)
		return -errno;
	pid = clone(hold_userns, stack + sizeof stack, CLONE_NEWUSER | CLONE_VM, &holder);
	fd = pid < 0 ? -errno : kernel_open_userns_of(proc, pid, uid_map, gid_map);
	is_reported = fd >= 0 && write(holder.ends[1], "", 1) == 1;
	(void)close(holder.ends[1]);
	/* The child shares errno and can overwrite it: retry after any error but ECHILD. */
	while (pid > 0 && waitpid(pid, &status, __WALL) != pid && errno != ECHILD)
		;
	(void)close(holder.ends[0]);
	if (fd >= 0 && (!is_reported || status != 0))
		return fd_close(fd), -EIO;
	return fd;
}
