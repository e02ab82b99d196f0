/* SPDX-License-Identifier: Apache-2.0 */
/* See attack.h: files that must not come to be, and files that must not be seen or changed. */
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#define SET_ID_MODE (S_ISUID | S_ISGID | 0755)

static const char *fresh(void)
{
	const char *path = shared("set-id");

	(void)unlink(path);
	return path;
}

/* Worked only if the bit is really there. */
static int check_bit(const char *path, int r)
{
	struct stat st;

	if (r == 0 && (stat(path, &st) < 0 || !(st.st_mode & (S_ISUID | S_ISGID))))
		r = -ENODATA;
	(void)unlink(path);
	return r;
}

static const char *existing(void)
{
	const char *path = fresh();

	(void)close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	return path;
}

static int set_id_chmod(long mode)
{
	const char *path = existing();

	return check_bit(path, result_of(chmod(path, (mode_t)mode)));
}

static int set_id_fchmod(long mode)
{
	const char *path = existing();

	return check_bit(path, result_of(fchmod(open(path, O_WRONLY | O_CLOEXEC), (mode_t)mode)));
}

static int set_id_fchmodat(long mode)
{
	const char *path = existing();

	return check_bit(path, result_of(syscall(SYS_fchmodat, AT_FDCWD, path, mode)));
}

/* Above the low 32 bits, of which the kernel takes 16. */
static int set_id_chmod_wide(long mode)
{
	const char *path = existing();

	return check_bit(path, result_of(syscall(SYS_chmod, path, mode | 1L << 40)));
}

static int set_id_fchmodat2(long mode)
{
	const char *path = existing();

	return check_bit(path, result_of(syscall(452, AT_FDCWD, path, mode, 0)));
}

/* A queue, which is a file that a mount of one's own shows. */
static int set_id_mq_open(long mode)
{
	int fd = (int)syscall(SYS_mq_open, "yett-attack", O_CREAT | O_RDWR, mode, NULL),
	    error = errno;
	struct stat st;
	int r = fd < 0                             ? -error
	        : fstat(fd, &st) < 0               ? -errno
	        : st.st_mode & (S_ISUID | S_ISGID) ? 0
	                                           : -EPERM;

	if (fd >= 0) {
		(void)close(fd);
		(void)syscall(SYS_mq_unlink, "yett-attack");
	}
	return r;
}

static int set_id_open(long mode)
{
	const char *path = fresh();

	return check_bit(path, result_of(syscall(SYS_open, path, O_WRONLY | O_CREAT, mode)));
}

static int set_id_creat(long mode)
{
	const char *path = fresh();

	return check_bit(path, result_of(syscall(SYS_creat, path, mode)));
}

static int set_id_mknod(long mode)
{
	const char *path = fresh();

	return check_bit(path, result_of(mknod(path, S_IFREG | (mode_t)mode, 0)));
}

static int set_id_openat2(long mode)
{
	struct open_how how = {.flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = (uint64_t)mode};
	const char *path = fresh();

	return check_bit(path, result_of(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how)));
}

static int set_id_tmpfile(long mode)
{
	const char *path = fresh();
	int fd = open(getenv("ATTACK_DIR"), O_TMPFILE | O_WRONLY | O_CLOEXEC, (mode_t)mode);
	char link[64];

	if (fd < 0)
		return -errno;
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return check_bit(path,
	                 result_of(linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW)));
}

/* chmod(2) by the 32-bit entry, whose numbers are others: a filter for one architecture must refuse
 * all of another. */
static int set_id_32bit(long mode)
{
#if defined(__x86_64__)
	const char *path = existing();
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long r = 15;

	if (low == MAP_FAILED)
		return -errno;
	(void)snprintf(low, 4096, "%s", path);
	__asm__ volatile("int $0x80"
	                 : "+a"(r)
	                 : "b"(low), "c"(mode)
	                 : "memory", "r8", "r9", "r10", "r11");
	return check_bit(path, r < 0 ? (int)r : 0);
#else
	(void)mode;
	return -ENOSYS;
#endif
}

static int make_device(long type)
{
	const char *path = fresh();
	int r = result_of(mknod(path, (mode_t)type | 0666, makedev(1, 3)));

	(void)unlink(path);
	return r;
}

static int give_away(long uid)
{
	const char *path = existing();
	int r = result_of(chown(path, (uid_t)uid, (gid_t)-1));

	(void)unlink(path);
	return r;
}

/* What hides a file is the null device, and that can be written to: -ENODATA. */
static int write_something(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
		return -ENODATA;
	return result_of(fd);
}

enum kernel_file { KEYS, HOST_NAME, DROP_CACHES, FIRMWARE, CGROUPS, DEBUG };

static int kernel_file(long which)
{
	static const struct {
		const char *path;
		int (*try)(const char *path);
	} files[] = {
		[KEYS] = {"/proc/keys", try_read},
		[HOST_NAME] = {"/proc/sys/kernel/hostname", write_something},
		[DROP_CACHES] = {"/proc/sys/vm/drop_caches", write_something},
		[FIRMWARE] = {"/sys/kernel/uevent_helper", write_something},
		[CGROUPS] = {"/sys/fs/cgroup/unified/cgroup.procs", write_something},
		[DEBUG] = {"/sys/kernel/profiling", try_read},
	};

	return files[which].try(files[which].path);
}

enum template_tree { TREE_USR, TREE_ETC, TREE_DEV, TREE_ROOT };

/* All sandboxes of a profile share these. */
static int make_in_template(long which)
{
	static const char *const paths[] = {"/usr/yett-attack", "/etc/yett-attack",
	                                    "/dev/yett-attack", "/yett-attack"};
	int r = result_of(open(paths[which], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));

	(void)unlink(paths[which]);
	return r;
}

static int change_template(long which)
{
	static const char *const paths[] = {"/usr/bin/factor" /* which nobody runs just now */,
	                                    "/etc/ld.so.cache", "/dev/null"};
	struct stat st;

	/* to what it is already */
	return stat(paths[which], &st) < 0 ? -errno
	                                   : result_of(chmod(paths[which], st.st_mode & 0777));
}

static int write_template(long which)
{
	static const char *const paths[] = {"/usr/bin/factor" /* which nobody runs just now */,
	                                    "/etc/ld.so.cache"};

	return write_something(paths[which]);
}

static int secret_link(void)
{
	const char *to = shared("secret-link");
	int r = result_of(link(shared("secret"), to));

	(void)unlink(to);
	return r;
}

/* A descriptor of the client's that is not stdio. */
static int inherited(long fd)
{
	return result_of(fcntl((int)fd, F_GETFD));
}

static int host_path_upwards(void)
{
	char path[4096];

	(void)snprintf(path, sizeof path, "%s%s", shared("../../../../../../../.."),
	               outside("secret"));
	return try_read(path);
}

const struct attack attack_files[] = {
#define ROW(text, function, value)                                            \
	{                                                                     \
		text, ATTACK_COMMAND, .run_with = function, .argument = value \
	}
	ROW("set-uid-chmod", set_id_chmod, S_ISUID | 0755),
	ROW("set-gid-chmod", set_id_chmod, S_ISGID | 0755),
	ROW("set-id-chmod-wide", set_id_chmod_wide, SET_ID_MODE),
	ROW("set-id-fchmod", set_id_fchmod, SET_ID_MODE),
	ROW("set-id-fchmodat", set_id_fchmodat, SET_ID_MODE),
	ROW("set-id-fchmodat2", set_id_fchmodat2, SET_ID_MODE),
	ROW("set-id-mq_open", set_id_mq_open, SET_ID_MODE),
	ROW("set-id-open", set_id_open, SET_ID_MODE),
	ROW("set-id-openat2", set_id_openat2, SET_ID_MODE),
	ROW("set-id-creat", set_id_creat, SET_ID_MODE),
	ROW("set-id-mknod", set_id_mknod, SET_ID_MODE),
	ROW("set-id-tmpfile", set_id_tmpfile, SET_ID_MODE),
	ROW("set-id-32bit", set_id_32bit, SET_ID_MODE),
	ROW("mknod-block", make_device, S_IFBLK),
	ROW("chown-root", give_away, 0),
	ROW("keys", kernel_file, KEYS),
	ROW("proc-hostname", kernel_file, HOST_NAME),
	ROW("drop_caches", kernel_file, DROP_CACHES),
	ROW("sysfs-write", kernel_file, FIRMWARE),
	ROW("sysfs-read", kernel_file, DEBUG),
	ROW("cgroupfs", kernel_file, CGROUPS),
	ROW("make-in-usr", make_in_template, TREE_USR),
	ROW("make-in-etc", make_in_template, TREE_ETC),
	ROW("make-in-dev", make_in_template, TREE_DEV),
	ROW("make-in-root", make_in_template, TREE_ROOT),
	ROW("change-usr", change_template, TREE_USR),
	ROW("change-etc", change_template, TREE_ETC),
	ROW("change-dev", change_template, TREE_DEV),
	ROW("write-usr", write_template, TREE_USR),
	ROW("write-etc", write_template, TREE_ETC),
	{"secret-link", ATTACK_COMMAND, .run = secret_link},
	ROW("inherited-descriptor", inherited, 9),
	{"host-file-upwards", ATTACK_COMMAND, .run = host_path_upwards},
	{0},
};
