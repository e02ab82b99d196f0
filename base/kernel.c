/* See kernel.h. */
#include "base/kernel.h"

int kernel_mount_new(const char *type, const char *const *options, const char *label, unsigned mount_attributes)
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
