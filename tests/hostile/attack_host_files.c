/* SPDX-License-Identifier: Apache-2.0 */
/* See attack.h: files that were not shared, and what must not come to be in a directory that was.
 */
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>

static int read_host_file(void)
{
	return try_read(outside("secret"));
}

static int write_host_file(void)
{
	return try_write(outside("open"), 0, "changed");
}

static int truncate_host_file(void)
{
	return result_of(truncate(outside("open"), 3));
}

static int change_mode(void)
{
	const char *path = outside("open");
	int r = result_of(chmod(path, 0600));

	(void)chmod(path, 0666);
	return r;
}

static int link_host_file(void)
{
	const char *link_name = shared("link");
	int r = result_of(link(outside("secret"), link_name));

	(void)unlink(link_name);
	return r;
}

static int replace_host_file(void)
{
	const char *new_file = own_file("new"), *replaced = outside("replaced");
	int r = new_file ? result_of(rename(new_file, replaced)) : -errno;

	(void)unlink(r == 0 ? replaced : shared("new"));
	return r;
}

static int execute_host_file(void)
{
	const char *path = outside("program");
	int ends[2], error = 0;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	child = vfork();
	if (child == 0) {
		(void)execl(path, path, (char *)NULL);
		error = errno;
		(void)!write(ends[1], &error, sizeof error);
		_exit(1);
	}
	(void)close(ends[1]);
	/* end of file: it runs */
	return child < 0 ? -errno : read(ends[0], &error, sizeof error) == 0 ? 0 : -error;
}

static int read_passwords(void)
{
	return try_read("/etc/shadow");
}

static int plant(const char *path)
{
	int r = try_write(path, O_CREAT | O_EXCL, "#!/bin/sh\n");

	if (r == 0)
		(void)unlink(path);
	return r;
}

static int plant_script(void)
{
	return plant("/etc/profile.d/yett-attack.sh");
}

static int plant_program(void)
{
	return plant("/usr/bin/yett-attack");
}

/* Standard input is a file that lies outside and came open for reading. Some layers put /dev/null
 * in its place. */
static int reopen_input(void)
{
	_cleanup_fd_ int fd = open("/proc/self/fd/0", O_WRONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	return S_ISREG(st.st_mode) ? result_of(write(fd, "changed", 7)) : -EBADF;
}

/* In the shared directory, but somebody else's, and closed to the caller. */
static int read_others_file(void)
{
	return try_read(shared("secret"));
}

static int check_set_id(const char *path, int r)
{
	struct stat st;

	if (r == 0 && (stat(path, &st) < 0 || !(st.st_mode & S_ISUID)))
		r = -ENODATA;
	(void)unlink(path);
	return r;
}

static int set_id_by_mode(void)
{
	const char *path = own_file("set-id");

	return path ? check_set_id(path, result_of(chmod(path, S_ISUID | 0755))) : -errno;
}

static int set_id_by_open(void)
{
	const char *path = shared("set-id");
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_ISUID | 0755);

	return check_set_id(path, result_of(fd));
}

static int file_capability(void)
{
	/* linux/capability.h: struct vfs_cap_data, revision 2, effective; CAP_SETUID */
	static const uint32_t data[5] = {0x02000001, 1 << 7, 0, 0, 0};
	const char *path = own_file("capable");
	int r = path ? result_of(setxattr(path, "security.capability", data, sizeof data, 0))
	             : -errno;

	(void)unlink(shared("capable"));
	return r;
}

static int give_away(void)
{
	const char *path = own_file("given");
	int r = path ? result_of(chown(path, 12345, (gid_t)-1)) : -errno;

	(void)unlink(shared("given"));
	return r;
}

static int make_and_read(mode_t type, dev_t device)
{
	const char *path = shared("node");
	int r = result_of(mknod(path, type | 0600, device));

	if (r == 0)
		r = try_read(path);
	(void)unlink(path);
	return r;
}

static int make_disk(void)
{
	return make_and_read(S_IFBLK, (dev_t)given_number("ATTACK_DISK_NUMBER"));
}

/* /dev/zero: no worse than others, but nothing is there to harm. */
static int make_device(void)
{
	return make_and_read(S_IFCHR, makedev(1, 5));
}

static int read_disk(void)
{
	return try_read(given("ATTACK_DISK"));
}

static int read_shared_device(void)
{
	return try_read(shared("device"));
}

/* Files have numbers on a file system, whatever is mounted where. The number is given: in earnest
 * it is guessed. */
static int open_by_handle(void)
{
	union {
		struct file_handle handle;
		char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} file = {0};
	_cleanup_fd_ int directory = open(given("ATTACK_DIR"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_fd_ int fd = -1;
	const char *hex = given("ATTACK_HANDLE");
	unsigned byte;

	(void)sscanf(hex, "%d:%u:", &file.handle.handle_type, &file.handle.handle_bytes);
	hex = strrchr(hex, ':') + 1;
	for (size_t i = 0; i < file.handle.handle_bytes && sscanf(hex + 2 * i, "%2x", &byte) == 1;
	     i++)
		file.handle.f_handle[i] = (unsigned char)byte;
	fd = directory < 0 ? -1 : open_by_handle_at(directory, &file.handle, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : result_of(read(fd, &byte, 1));
}

const struct attack attack_host_files[] = {
	{"host-file-read", ATTACK_COMMAND | ATTACK_LAYER, false, .run = read_host_file},
	{"host-file-write", ATTACK_LAYER, false, .run = write_host_file},
	{"host-file-truncate", ATTACK_LAYER, false, .run = truncate_host_file},
	{"host-file-mode", ATTACK_LAYER, false, .run = change_mode},
	{"host-file-link", ATTACK_LAYER, false, .run = link_host_file},
	{"host-file-replace", ATTACK_LAYER, false, .run = replace_host_file},
	{"host-file-execute", ATTACK_LAYER, false, .run = execute_host_file},
	{"password-hashes", ATTACK_LAYER, false, .run = read_passwords},
	{"login-script", ATTACK_LAYER, true, .run = plant_script},
	{"system-program", ATTACK_LAYER, true, .run = plant_program},
	{"reopen-for-writing", ATTACK_COMMAND | ATTACK_LAYER, false, .run = reopen_input},
	{"others-file-in-share", ATTACK_COMMAND | ATTACK_LAYER, false, .run = read_others_file},
	{"set-id-by-mode", ATTACK_COMMAND | ATTACK_LAYER, false, .run = set_id_by_mode},
	{"set-id-by-open", ATTACK_COMMAND | ATTACK_LAYER, false, .run = set_id_by_open},
	{"file-capability", ATTACK_COMMAND | ATTACK_LAYER, false, .run = file_capability},
	{"file-given-away", ATTACK_COMMAND | ATTACK_LAYER, false, .run = give_away},
	{"disk-node-made", ATTACK_LAYER, true, .run = make_disk},
	{"device-node-made", ATTACK_COMMAND | ATTACK_LAYER, false, .run = make_device},
	{"disk-node", ATTACK_LAYER, true, .run = read_disk},
	{"device-in-share", ATTACK_COMMAND | ATTACK_LAYER, false, .run = read_shared_device},
	{"file-by-handle", ATTACK_COMMAND | ATTACK_LAYER, false, .run = open_by_handle},
	{0},
};
