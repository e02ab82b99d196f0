/* See attack.h: files that must not come to be, and files that must not be seen or changed. */
#include "tests/hostile/attack.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>

#define SET_ID_MODE (S_ISUID | S_ISGID | 0755)

static const char *fresh(void)
{
	const char *path = attack_path("set-id");

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

	return check_bit(path, attack_result(chmod(path, (mode_t)mode)));
}

static int set_id_fchmod(long mode)
{
	const char *path = existing();

	return check_bit(path, attack_result(fchmod(open(path, O_WRONLY | O_CLOEXEC), (mode_t)mode)));
}

static int set_id_fchmodat(long mode)
{
	const char *path = existing();

	return check_bit(path, attack_result(syscall(SYS_fchmodat, AT_FDCWD, path, mode)));
}

/* Above the low 32 bits, of which the kernel takes 16. */
static int set_id_chmod_wide(long mode)
{
	const char *path = existing();

	return check_bit(path, attack_result(syscall(SYS_chmod, path, mode | 1L << 40)));
}

static int set_id_fchmodat2(long mode)
{
	const char *path = existing();

	return check_bit(path, attack_result(syscall(452, AT_FDCWD, path, mode, 0)));
}

static int set_id_open(long mode)
{
	const char *path = fresh();

	return check_bit(path, attack_result(syscall(SYS_open, path, O_WRONLY | O_CREAT, mode)));
}

static int set_id_openat(long mode)
{
	const char *path = fresh();

	return check_bit(path, attack_result(openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC, (mode_t)mode)));
}

static int set_id_creat(long mode)
{
	const char *path = fresh();

	return check_bit(path, attack_result(syscall(SYS_creat, path, mode)));
}

static int set_id_mknod(long mode)
{
	const char *path = fresh();

	return check_bit(path, attack_result(mknod(path, S_IFREG | (mode_t)mode, 0)));
}

static int set_id_openat2(long mode)
{
	struct open_how how = {.flags = O_WRONLY | O_CREAT | O_CLOEXEC, .mode = (uint64_t)mode};
	const char *path = fresh();

	return check_bit(path, attack_result(syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how)));
}

static int set_id_tmpfile(long mode)
{
	const char *path = fresh();
	int fd = open(getenv("ATTACK_DIR"), O_TMPFILE | O_WRONLY | O_CLOEXEC, (mode_t)mode);
	char link[64];

	if (fd < 0)
		return -errno;
	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	return check_bit(path, attack_result(linkat(AT_FDCWD, link, AT_FDCWD, path, AT_SYMLINK_FOLLOW)));
}

/* chmod(2) by the 32-bit entry, whose numbers are others: a filter for one architecture must refuse all of another. */
static int set_id_32bit(long mode)
{
#if defined(__x86_64__)
	const char *path = existing();
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	long r = 15;

	if (low == MAP_FAILED)
		return -errno;
	(void)snprintf(low, 4096, "%s", path);
	__asm__ volatile("int $0x80" : "+a"(r) : "b"(low), "c"(mode) : "memory", "r8", "r9", "r10", "r11");
	return check_bit(path, r < 0 ? (int)r : 0);
#else
	(void)mode;
	return -ENOSYS;
#endif
}

static int set_file_capability(long unused)
{
	/* linux/capability.h: struct vfs_cap_data, revision 2, effective; CAP_NET_RAW */
	static const uint32_t data[5] = {0x02000001, 1 << 13, 0, 0, 0};
	const char *path = existing();
	int r = attack_result(setxattr(path, "security.capability", data, sizeof data, 0));

	(void)unused;
	(void)unlink(path);
	return r;
}

static int make_device(long type)
{
	const char *path = fresh();
	int r = attack_result(mknod(path, (mode_t)type | 0666, makedev(1, 3)));

	(void)unlink(path);
	return r;
}

static int give_away(long uid)
{
	const char *path = existing();
	int r = attack_result(chown(path, (uid_t)uid, (gid_t)-1));

	(void)unlink(path);
	return r;
}

static int by_handle(long unused)
{
	union {
		struct file_handle handle;
		char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} file = {.handle.handle_bytes = MAX_HANDLE_SZ};
	int id, root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)unused;
	/* whether the kernel makes one here or not, a number can be guessed */
	if (name_to_handle_at(AT_FDCWD, getenv("ATTACK_DIR"), &file.handle, &id, 0) < 0 && errno != EPERM)
		return -errno;
	return attack_result(open_by_handle_at(root, &file.handle, O_RDONLY));
}

static int read_something(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char byte;
	ssize_t n = fd < 0 ? -1 : read(fd, &byte, 1);

	return n == 0 ? -ENODATA : attack_result(n);
}

static int open_something(const char *path)
{
	return attack_result(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}

/* What hides a file is the null device, and that can be written to: -ENODATA. */
static int write_something(const char *path)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3))
		return -ENODATA;
	return attack_result(fd);
}

enum kernel_file { KCORE, KEYS, KMSG, MEMORY, SYSRQ, CORE_PATTERN, MODPROBE, HOST_NAME, DROP_CACHES, FIRMWARE, CGROUPS, DEBUG };

static int kernel_file(long which)
{
	static const struct {
		const char *path;
		int (*try)(const char *path);
	} files[] = {
		[KCORE] = {"/proc/kcore", read_something},
		[KEYS] = {"/proc/keys", read_something},
		[KMSG] = {"/dev/kmsg", open_something},
		[MEMORY] = {"/dev/mem", write_something},
		[SYSRQ] = {"/proc/sysrq-trigger", write_something},
		[CORE_PATTERN] = {"/proc/sys/kernel/core_pattern", write_something},
		[MODPROBE] = {"/proc/sys/kernel/modprobe", write_something},
		[HOST_NAME] = {"/proc/sys/kernel/hostname", write_something},
		[DROP_CACHES] = {"/proc/sys/vm/drop_caches", write_something},
		[FIRMWARE] = {"/sys/kernel/uevent_helper", write_something},
		[CGROUPS] = {"/sys/fs/cgroup/unified/cgroup.procs", write_something},
		[DEBUG] = {"/sys/kernel/profiling", read_something},
	};

	return files[which].try(files[which].path);
}

enum template_tree { TREE_USR, TREE_ETC, TREE_DEV, TREE_ROOT };

/* All sandboxes of a profile share these. */
static int make_in_template(long which)
{
	static const char *const paths[] = {"/usr/yett-attack", "/etc/yett-attack", "/dev/yett-attack", "/yett-attack"};
	int r = attack_result(open(paths[which], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));

	(void)unlink(paths[which]);
	return r;
}

static int change_template(long which)
{
	static const char *const paths[] = {"/usr/bin/env", "/etc/ld.so.cache", "/dev/null"};
	struct stat st;

	/* to what it is already */
	return stat(paths[which], &st) < 0 ? -errno : attack_result(chmod(paths[which], st.st_mode & 0777));
}

static int write_template(long which)
{
	static const char *const paths[] = {"/usr/bin/env", "/etc/ld.so.cache"};

	return write_something(paths[which]);
}

/* A file in the shared directory that its owner, who is not the caller, keeps for himself. */
static int secret_read(long unused)
{
	(void)unused;
	return read_something(attack_path("secret"));
}

static int secret_link(long unused)
{
	char from[4096];
	const char *to;
	int r;

	(void)unused;
	(void)snprintf(from, sizeof from, "%s", attack_path("secret"));
	to = attack_path("secret-link");
	r = attack_result(link(from, to));
	(void)unlink(to);
	return r;
}

/* A device node that lies in the shared directory, open to everybody. */
static int node_in_share(long unused)
{
	(void)unused;
	return read_something(attack_path("device"));
}

/* stdin is a file of the caller's, open for reading only. */
static int reopen_stdin(long unused)
{
	(void)unused;
	return attack_result(open("/proc/self/fd/0", O_WRONLY | O_CLOEXEC));
}

/* A descriptor of the client's that is not stdio. */
static int inherited(long fd)
{
	return attack_result(fcntl((int)fd, F_GETFD));
}

static int host_path(long unused)
{
	(void)unused;
	return read_something(getenv("ATTACK_HOST_FILE"));
}

static int host_path_upwards(long unused)
{
	char path[4096];

	(void)unused;
	(void)snprintf(path, sizeof path, "%s/../../../../../../../..%s", getenv("ATTACK_DIR"), getenv("ATTACK_HOST_FILE"));
	return read_something(path);
}

const struct attack attack_files[] = {
	{"set-id-chmod", set_id_chmod, SET_ID_MODE},
	{"set-uid-chmod", set_id_chmod, S_ISUID | 0755},
	{"set-gid-chmod", set_id_chmod, S_ISGID | 0755},
	{"set-id-chmod-wide", set_id_chmod_wide, SET_ID_MODE},
	{"set-id-fchmod", set_id_fchmod, SET_ID_MODE},
	{"set-id-fchmodat", set_id_fchmodat, SET_ID_MODE},
	{"set-id-fchmodat2", set_id_fchmodat2, SET_ID_MODE},
	{"set-id-open", set_id_open, SET_ID_MODE},
	{"set-id-openat", set_id_openat, SET_ID_MODE},
	{"set-id-openat2", set_id_openat2, SET_ID_MODE},
	{"set-id-creat", set_id_creat, SET_ID_MODE},
	{"set-id-mknod", set_id_mknod, SET_ID_MODE},
	{"set-id-tmpfile", set_id_tmpfile, SET_ID_MODE},
	{"set-id-32bit", set_id_32bit, SET_ID_MODE},
	{"file-capability", set_file_capability, 0},
	{"mknod-character", make_device, S_IFCHR},
	{"mknod-block", make_device, S_IFBLK},
	{"chown-root", give_away, 0},
	{"chown-other", give_away, 12345},
	{"open_by_handle_at", by_handle, 0},
	{"kcore", kernel_file, KCORE},
	{"keys", kernel_file, KEYS},
	{"kmsg", kernel_file, KMSG},
	{"dev-mem", kernel_file, MEMORY},
	{"sysrq", kernel_file, SYSRQ},
	{"core_pattern", kernel_file, CORE_PATTERN},
	{"modprobe", kernel_file, MODPROBE},
	{"proc-hostname", kernel_file, HOST_NAME},
	{"drop_caches", kernel_file, DROP_CACHES},
	{"sysfs-write", kernel_file, FIRMWARE},
	{"sysfs-read", kernel_file, DEBUG},
	{"cgroupfs", kernel_file, CGROUPS},
	{"device-in-share", node_in_share, 0},
	{"make-in-usr", make_in_template, TREE_USR},
	{"make-in-etc", make_in_template, TREE_ETC},
	{"make-in-dev", make_in_template, TREE_DEV},
	{"make-in-root", make_in_template, TREE_ROOT},
	{"change-usr", change_template, TREE_USR},
	{"change-etc", change_template, TREE_ETC},
	{"change-dev", change_template, TREE_DEV},
	{"write-usr", write_template, TREE_USR},
	{"write-etc", write_template, TREE_ETC},
	{"secret-read", secret_read, 0},
	{"secret-link", secret_link, 0},
	{"reopen-stdin", reopen_stdin, 0},
	{"inherited-descriptor", inherited, 9},
	{"host-file", host_path, 0},
	{"host-file-upwards", host_path_upwards, 0},
	{0},
};
